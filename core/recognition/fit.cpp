// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits tensors to a family, and describes what does not fit.
#include "core/recognition/fit.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/recognition/maps.h"
#include "core/recognition/recognise.h"

namespace keepbox {

/// Fits a dense or ready family to one of the tensors, of any number of anchors and classes.
Result<Layout> fit_table(const DetectorSpec& spec, std::span<const TensorView> tensors,
                         size_t index, const Request& request);

/// Returns kMismatch with the tensors that the family has and those that were found.
std::unexpected<Error> mismatch(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                const Request& request);

/// Returns kMismatch for a tensor whose values after the class scores cannot be the payload.
std::unexpected<Error> no_payload(const DetectorSpec& spec, const TensorView& tensor,
                                  const Request& request);

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

namespace {

/// True if end-to-end rows may have that many columns, with a payload.
bool may_have_payload(size_t channels, const DetectorSpec& spec) {
  const size_t before = min_channels(spec) - spec.payload_count;
  return spec.payload != Payload::kNone && spec.payload != Payload::kAngle && channels > before &&
         may_be_payload(channels - before, spec.payload);
}

/// True if anchors may have that many channels.
bool may_be_channels(size_t channels, const DetectorSpec& spec) {
  const size_t needed = min_channels(spec);
  if (spec.reader == Reader::kReady) return channels == needed || may_have_payload(channels, spec);
  return channels >= needed && channels - needed < kMaxClasses;
}

/// True if the first of two dimensions is that of anchors and the second that of channels. A
/// dimension that cannot be channels is anchors; then one that equals the frame's grid; then the
/// longer one.
bool first_is_anchors(size_t a, size_t b, const DetectorSpec& spec, Size frame) {
  if (may_be_channels(a, spec) != may_be_channels(b, spec)) return may_be_channels(b, spec);
  const bool a_cells = is_grid(a, frame, spec), b_cells = is_grid(b, frame, spec);
  if (a_cells != b_cells) return a_cells;
  return a >= b;
}

Field column(const Field& base, int channel) {
  if (channel < 0) return {};
  Field field = base;
  field.offset += static_cast<size_t>(channel) * base.channel_stride;
  return field;
}

/// True if all fields fit in a row of that many channels.
bool within(const DetectorSpec& spec, size_t channels) {
  const auto fits = [&](int first, size_t count) {
    return first < 0 || static_cast<size_t>(first) + count <= channels;
  };
  const auto& columns = spec.columns;
  if (!fits(columns.box_last ? -1 : columns.box, size_t{4} * spec.bins)) return false;
  if (!fits(columns.objectness, 1) || !fits(columns.payload, 1)) return false;
  if (spec.reader != Reader::kReady) return true;
  const bool oriented = spec.payload == Payload::kAngle;
  return fits(columns.score, 1) && fits(columns.class_id, 1) && fits(columns.image, 1) &&
         fits(oriented ? columns.angle : -1, 1);
}

/// Sets the fields of a table whose classes and payload are counted. @param base its first column.
void set_columns(Layout& layout, const Field& base, size_t channels) {
  const DetectorSpec& spec = *layout.spec;
  const bool ready = spec.reader == Reader::kReady;
  // check_limits() rejects more classes, but the columns after them might overflow an int
  const auto classes = static_cast<int>(std::min(layout.classes, kMaxClasses));
  layout[FieldId::kBox] =
      column(base, spec.columns.box_last ? spec.columns.classes + classes : spec.columns.box);
  layout[FieldId::kObjectness] = column(base, spec.columns.objectness);
  layout[FieldId::kScores] = column(base, spec.columns.classes);
  layout[FieldId::kScore] = column(base, spec.columns.score);
  layout[FieldId::kClassId] = column(base, spec.columns.class_id);
  layout[FieldId::kImage] = column(base, spec.columns.image);
  if (layout.payload_count != 0)
    layout[FieldId::kPayload] = column(layout[FieldId::kScores], classes);
  if (spec.columns.payload >= 0) {
    layout[FieldId::kPayload] = column(base, spec.columns.payload);
    layout.payload_count =
        ready ? narrow(channels) - static_cast<uint32_t>(spec.columns.payload) : spec.payload_count;
  }
  layout[FieldId::kAngle] = spec.payload != Payload::kAngle ? Field{}
                            : ready                         ? column(base, spec.columns.angle)
                                                            : layout[FieldId::kPayload];
}

}  // namespace

Result<Layout> fit_table(const DetectorSpec& spec, std::span<const TensorView> tensors,
                         size_t index, const Request& request) {
  const TensorView& tensor = tensors[index];
  const auto dims = batched(tensor.shape, 2);
  if (!dims || !is_real(tensor)) return mismatch(spec, tensors, request);
  const size_t a = dims->dims[0], b = dims->dims[1];
  const bool ready = spec.reader == Reader::kReady;
  const bool rows = ready || first_is_anchors(a, b, spec, request.frame);
  const size_t anchors = rows ? a : b, channels = rows ? b : a;
  const size_t needed = min_channels(spec);
  const bool enough =
      ready ? channels == needed || may_have_payload(channels, spec) : channels >= needed;
  if (!enough || !within(spec, channels)) return mismatch(spec, tensors, request);

  Layout layout{.spec = &spec,
                .images = narrow(dims->images),
                .anchors = narrow(anchors),
                .levels = levels_of(anchors, request.frame, spec)};
  const Field base{.tensor = static_cast<int>(index),
                   .anchor_stride = rows ? channels : 1,
                   .channel_stride = rows ? 1 : anchors,
                   .image_stride = anchors * channels};
  layout.segments[0].count = layout.anchors;
  if (!ready) {
    const size_t values = channels - channels_besides_classes(spec);
    const auto payload = payload_of(spec, values, tensors, request);
    if (!payload) return no_payload(spec, tensor, request);
    layout.classes = narrow(values - *payload);
    layout.payload_count = narrow(*payload);
  }
  set_columns(layout, base, channels);
  return layout;
}

namespace {

/// Returns "boxes 1xNx4, scores 1xNxC", with the family's channels and levels.
std::string roles_text(const DetectorSpec& spec, const Request& request) {
  std::string text;
  for (const TensorRule& rule : spec.rules()) {
    if (rule.optional) continue;
    const size_t channels = channels_of(spec, rule, request);
    const std::string_view name = rule.role == Role::kBoxes        ? "boxes"
                                  : rule.role == Role::kScores     ? "scores"
                                  : rule.role == Role::kObjectness ? "objectness"
                                                                   : "sizes";
    append(text, std::string(name) + " 1xNx" + (channels == 0 ? "C" : std::to_string(channels)));
  }
  const size_t levels = spec.level_count();
  return levels > 1 ? text + ", one each or one for each of " + counted(levels, "level") : text;
}

std::string wanted_text(const DetectorSpec& spec, const Request& request) {
  const std::string name(spec.name);
  switch (spec.reader) {
    case Reader::kReady:
      return name + " rows: 1xNx" + std::to_string(min_channels(spec)) + " float32";
    case Reader::kSplit: return name + " tensors: " + roles_text(spec, request);
    case Reader::kIndices: return name + " tensors: indices Kx3, boxes 1xNx4 and scores 1xCxN";
    case Reader::kOutputs: return name + " tensors: boxes 1xNx4, scores 1xN (classes 1xN, count 1)";
    case Reader::kDense: break;
  }
  return name + " rows 1xNxC or planes 1xCxN with C >= " + std::to_string(min_channels(spec)) +
         (spec.level_count() > 1 && spec.activation != Activation::kNone
              ? ", or such feature maps for " + counted(spec.level_count(), "level")
              : "");
}

}  // namespace

std::unexpected<Error> mismatch(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                const Request& request) {
  std::string hint = "set detector= to the model's family or tensor-ids= to its tensors";
  if (request.num_classes != 0 && spec.reader == Reader::kSplit)
    hint += ", or num-classes= to its number of classes";
  const auto unscaled = [](const TensorView& tensor) {
    return !is_real(tensor) && tensor.shape.rank() > 2;
  };
  if (std::ranges::any_of(tensors, unscaled))
    hint += ", or quantization= to the scale and zero point of integer tensors";
  return fail(ErrorKind::kMismatch, wanted_text(spec, request), to_string(tensors),
              std::move(hint));
}

std::unexpected<Error> no_payload(const DetectorSpec& spec, const TensorView& tensor,
                                  const Request& request) {
  const std::string classes =
      request.num_classes == 0 ? "classes" : counted(request.num_classes, "class");
  return fail(ErrorKind::kMismatch,
              std::string(spec.name) + " channels for a box, " + classes +
                  (spec.payload == Payload::kNone ? "" : " and " + payload_text(spec, 0)),
              tensor.to_string(), "set num-classes= to the number of the model's classes");
}

size_t channels_of(const DetectorSpec& spec, const TensorRule& rule, const Request& request) {
  const size_t channels = channels_of(spec, rule);
  if (channels != 0 || rule.role != Role::kScores || request.num_classes == 0) return channels;
  return request.num_classes + spec.background_count();
}

std::optional<size_t> payload_of(const DetectorSpec& spec, size_t values,
                                 std::span<const TensorView> tensors, const Request& request) {
  const auto rest_after = [&](size_t classes) -> std::optional<size_t> {
    if (classes > values || !may_be_payload(values - classes, spec.payload)) return std::nullopt;
    return values - classes;
  };
  if (spec.columns.payload >= 0) return 0;
  if (request.num_classes != 0) return rest_after(request.num_classes);
  if (spec.payload == Payload::kNone) return 0;
  const size_t maps = spec.payload == Payload::kMaskCoefficients ? prototype_count(tensors) : 0;
  if (maps != 0) return maps < values ? std::optional(maps) : std::nullopt;
  if (request.label_count != 0 && spec.payload != Payload::kAngle)
    if (const auto rest = rest_after(request.label_count)) return rest;
  return spec.payload_count < values ? std::optional<size_t>(spec.payload_count) : std::nullopt;
}

}  // namespace keepbox
