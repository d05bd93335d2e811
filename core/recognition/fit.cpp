// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits the families of the table to tensors.
#include "core/recognition/fit.h"

#include <algorithm>

#include "core/formula/box.h"
#include "core/recognition/fit_errors.h"
#include "core/recognition/fit_maps.h"
#include "core/recognition/fit_table.h"
#include "core/recognition/recognise.h"

namespace keepbox {
namespace {

constexpr uint32_t kMaxImages = 1u << 16;  // of a batch

/// Returns the tensor for a rule: by position in tensor_ids, by its id, or by the generic names.
int tensor_for(const DetectorSpec& spec, size_t rule, std::span<const TensorView> tensors,
               const Request& request) {
  if (!request.tensor_ids.empty()) return rule < tensors.size() ? static_cast<int>(rule) : -1;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (spec.tensors[rule].has(tensors[i].id)) return static_cast<int>(i);
  if (!has_plain_names(spec, tensors)) return -1;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (spec.tensors[rule].has_plain(tensors[i].id)) return static_cast<int>(i);
  return -1;
}

Result<Layout> fit_outputs(const DetectorSpec& spec, std::span<const TensorView> tensors,
                           const Request& request) {
  Layout layout{.spec = &spec};
  for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
    const int index = tensor_for(spec, rule, tensors, request);
    if (index < 0) {
      if (spec.tensors[rule].optional) continue;
      return mismatch(spec, tensors, request);
    }
    const TensorView& tensor = tensors[static_cast<size_t>(index)];
    const Role role = spec.tensors[rule].role;
    if (role == Role::kCount) {
      layout[FieldId::kCount] = {.tensor = index, .image_stride = 1};
      const auto count = tensor.shape.count();
      if (!count || *count < layout.images) return mismatch(spec, tensors, request);
      continue;
    }
    const auto dims = batched(tensor.shape, role == Role::kBoxes ? 2 : 1);
    if (!dims) return mismatch(spec, tensors, request);
    const size_t n = dims->dims[0];
    if (role == Role::kBoxes) {
      if (dims->dims[1] != 4 || !is_real(tensor)) return mismatch(spec, tensors, request);
      layout.images = narrow(dims->images);
      layout.anchors = layout.segments[0].count = narrow(n);
      layout[FieldId::kBox] = {
          .tensor = index, .anchor_stride = 4, .channel_stride = 1, .image_stride = n * 4};
      continue;
    }
    if (n != layout.anchors || dims->images != layout.images)
      return mismatch(spec, tensors, request);
    if (role == Role::kScores && !is_real(tensor)) return mismatch(spec, tensors, request);
    layout[role == Role::kScores ? FieldId::kScore : FieldId::kClassId] = {
        .tensor = index, .anchor_stride = 1, .image_stride = n};
  }
  return layout;
}

/// Fits rows of indices into boxes and planes (or rows) of scores.
Result<Layout> fit_indices(const DetectorSpec& spec, std::span<const TensorView> tensors,
                           const Request& request) {
  int found[3];
  for (size_t rule = 0; rule < 3; ++rule) {
    found[rule] = tensor_for(spec, rule, tensors, request);
    if (found[rule] < 0) return mismatch(spec, tensors, request);
  }
  const auto view = [&](int which) -> const TensorView& {
    return tensors[static_cast<size_t>(found[which])];
  };
  const auto rows = batched(view(0).shape, 2), boxes = batched(view(1).shape, 2),
             scores = batched(view(2).shape, 2);
  if (!rows || rows->images != 1 || rows->dims[1] != 3 || !boxes || boxes->dims[1] != 4 ||
      !scores || scores->images != boxes->images)
    return mismatch(spec, tensors, request);
  const size_t anchors = boxes->dims[0], count = rows->dims[0];
  const bool planes = scores->dims[1] == anchors;
  if (!planes && scores->dims[0] != anchors) return mismatch(spec, tensors, request);
  const size_t classes = planes ? scores->dims[0] : scores->dims[1];
  Layout layout{.spec = &spec,
                .images = narrow(boxes->images),
                .anchors = narrow(count),
                .classes = narrow(classes),
                .indexed = narrow(anchors)};
  layout.segments[0].count = layout.anchors;
  layout[FieldId::kIndices] = {.tensor = found[0], .anchor_stride = 3, .channel_stride = 1};
  layout[FieldId::kBox] = {
      .tensor = found[1], .anchor_stride = 4, .channel_stride = 1, .image_stride = anchors * 4};
  layout[FieldId::kScores] = {.tensor = found[2],
                              .anchor_stride = planes ? 1 : classes,
                              .channel_stride = planes ? anchors : 1,
                              .image_stride = anchors * classes};
  return layout;
}

/// Finds the tensor with the number of filled rows, for families that have one.
Status fit_count(Layout& layout, std::span<const TensorView> tensors, const Request& request) {
  const DetectorSpec& spec = *layout.spec;
  const bool has_one = spec.reader == Reader::kReady && spec.tensor_count > 1;
  const int index = has_one ? tensor_for(spec, 1, tensors, request) : -1;
  if (index < 0) return {};
  if (tensors[static_cast<size_t>(index)].shape.count().value_or(0) < layout.images)
    return mismatch(spec, tensors, request);
  layout[FieldId::kCount] = {.tensor = index, .image_stride = 1};
  return {};
}

Status check_limits(const Layout& layout) {
  const auto text = [](size_t images, size_t anchors, size_t classes) {
    return counted(images, "image") + ", " + counted(anchors, "anchor") + " and " +
           counted(classes, "class");
  };
  if (layout.images > kMaxImages || layout.anchors > kMaxAnchors || layout.classes > kMaxClasses)
    return fail(ErrorKind::kUnsupported, "at most " + text(kMaxImages, kMaxAnchors, kMaxClasses),
                text(layout.images, layout.anchors, layout.classes));
  return {};
}

}  // namespace

Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request) {
  auto layout = fit_table(spec, tensors, index, request);
  if (layout) KB_TRY(check_limits(*layout));
  return layout;
}

Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request) {
  Result<Layout> layout = mismatch(spec, tensors, request);
  switch (spec.reader) {
    case Reader::kDense:
    case Reader::kReady: {
      if (spec.reader == Reader::kDense)
        if (auto levels = fit_maps(spec, tensors, request)) {
          layout = *std::move(levels);
          break;
        }
      const int by_id = tensor_for(spec, 0, tensors, request);
      if (by_id >= 0) {
        layout = fit_table(spec, tensors, static_cast<size_t>(by_id), request);
      } else {
        for (size_t i = 0; i < tensors.size() && !layout; ++i)
          if (!is_maps(tensors[i].shape)) layout = fit_table(spec, tensors, i, request);
      }
      if (layout) KB_TRY(fit_count(*layout, tensors, request));
      break;
    }
    case Reader::kSplit:
      if (auto split = fit_maps(spec, tensors, request)) layout = *std::move(split);
      break;
    case Reader::kOutputs: layout = fit_outputs(spec, tensors, request); break;
    case Reader::kIndices: layout = fit_indices(spec, tensors, request); break;
  }
  if (layout) KB_TRY(check_limits(*layout));
  return layout;
}

}  // namespace keepbox
