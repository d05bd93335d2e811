// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits the families of the table to tensors.
#include "core/layout.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/box.h"

namespace keepbox {
namespace {

/// A tensor's dimensions with the batch taken off and needless ones dropped.
struct Dims {
  size_t images = 1;
  std::vector<size_t> rest;
};

std::optional<Dims> reduce(const Shape& shape, size_t wanted) {
  Dims out;
  out.rest.assign(shape.dims().begin(), shape.dims().end());
  while (out.rest.size() > wanted && out.rest.front() == 1) out.rest.erase(out.rest.begin());
  for (size_t i = out.rest.size(); out.rest.size() > wanted && i-- > 1;)
    if (out.rest[i] == 1) out.rest.erase(out.rest.begin() + static_cast<ptrdiff_t>(i));
  if (out.rest.size() == wanted + 1) {
    out.images = out.rest.front();
    out.rest.erase(out.rest.begin());
  }
  if (out.rest.size() != wanted || out.images == 0) return std::nullopt;
  return out;
}

std::string list(std::span<const TensorView> tensors) {
  if (tensors.empty()) return "no tensors";
  std::string text;
  for (const TensorView& tensor : tensors) text += (text.empty() ? "" : "; ") + tensor.to_string();
  return text;
}

bool is_real(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 ||
         type == DataType::kBFloat16 || type == DataType::kFloat64;
}

size_t channels_needed(const DetectorSpec& spec) {
  if (spec.reader == Reader::kReady) return 6u + spec.payload_count;
  return static_cast<size_t>(spec.columns.classes) + 1u + spec.payload_count;
}

std::string wanted_text(const DetectorSpec& spec) {
  const std::string name(spec.name);
  switch (spec.reader) {
    case Reader::kReady:
      return name + " rows: 1xNx" + std::to_string(channels_needed(spec)) + " float32";
    case Reader::kSplit: return name + " tensors: boxes 1xNx4 and scores 1xNxC, float32";
    case Reader::kOutputs: return name + " tensors: boxes 1xNx4, scores 1xN (classes 1xN, count 1)";
    default:
      return name + " rows 1xNxC or planes 1xCxN of float32 with C >= " +
             std::to_string(channels_needed(spec));
  }
}

std::unexpected<Error> mismatch(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                std::string hint = "set detector= to the model's family or "
                                                   "tensor-ids= to its tensors") {
  return fail(ErrorKind::kMismatch, wanted_text(spec), list(tensors), std::move(hint));
}

bool has_id(const TensorRule& rule, std::string_view id) {
  return !id.empty() && std::ranges::find(rule.ids, id) != rule.ids.end();
}

/// The tensor for a rule: by position when the caller named tensors, else by its id.
int tensor_for(const DetectorSpec& spec, size_t rule, std::span<const TensorView> tensors,
               const Request& request) {
  if (!request.tensor_ids.empty()) return rule < tensors.size() ? static_cast<int>(rule) : -1;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (has_id(spec.tensors[rule], tensors[i].id)) return static_cast<int>(i);
  return -1;
}

/// Is the longer of two dimensions the one that counts anchors?
bool first_is_anchors(size_t a, size_t b, const DetectorSpec& spec, Size frame) {
  const size_t cells = size_t{grid_cells(frame, spec)} * spec.anchors_per_cell;
  if (cells != 0 && (a == cells) != (b == cells)) return a == cells;
  return a >= b;
}

Field column(const Field& base, int channel) {
  if (channel < 0) return {};
  Field field = base;
  field.offset += static_cast<size_t>(channel) * base.channel_stride;
  return field;
}

Result<Layout> fit_one_tensor(const DetectorSpec& spec, std::span<const TensorView> tensors,
                              int index, const Request& request) {
  const TensorView& tensor = tensors[static_cast<size_t>(index)];
  const auto dims = reduce(tensor.shape, 2);
  if (!dims || !is_real(tensor.type)) return mismatch(spec, tensors);
  const size_t a = dims->rest[0], b = dims->rest[1];
  const bool ready = spec.reader == Reader::kReady;
  const bool rows = ready || first_is_anchors(a, b, spec, request.frame);
  const size_t anchors = rows ? a : b, channels = rows ? b : a;
  if (channels < channels_needed(spec) || (ready && channels != channels_needed(spec)))
    return mismatch(spec, tensors);

  Layout layout{.spec = &spec,
                .images = static_cast<uint32_t>(dims->images),
                .anchors = static_cast<uint32_t>(std::min<size_t>(anchors, UINT32_MAX))};
  const Field base{.tensor = index,
                   .anchor_stride = rows ? channels : 1,
                   .channel_stride = rows ? 1 : anchors,
                   .image_stride = anchors * channels};
  if (!ready)
    layout.classes = static_cast<uint32_t>(
        std::min<size_t>(channels - channels_needed(spec) + 1, UINT32_MAX));
  layout.box = column(base, spec.columns.box_last ? static_cast<int>(layout.classes)
                                                  : spec.columns.box);
  layout.objectness = column(base, spec.columns.objectness);
  layout.scores = column(base, spec.columns.classes);
  layout.score = column(base, spec.columns.score);
  layout.class_id = column(base, spec.columns.class_id);
  return layout;
}

/// Boxes of a split family: the tensor with four channels.
Result<Layout> fit_split(const DetectorSpec& spec, std::span<const TensorView> tensors,
                         const Request& request) {
  int boxes = tensor_for(spec, 0, tensors, request), scores = tensor_for(spec, 1, tensors, request);
  for (size_t i = 0; i < tensors.size() && (boxes < 0 || scores < 0); ++i) {
    const auto dims = reduce(tensors[i].shape, 2);
    if (!dims) continue;
    int& slot = dims->rest[1] == 4 && boxes < 0 ? boxes : scores;
    if (slot < 0) slot = static_cast<int>(i);
  }
  if (boxes < 0 || scores < 0) return mismatch(spec, tensors);
  const auto b = reduce(tensors[static_cast<size_t>(boxes)].shape, 2);
  const auto s = reduce(tensors[static_cast<size_t>(scores)].shape, 2);
  if (!b || !s || b->rest[1] != 4 || b->images != s->images) return mismatch(spec, tensors);
  const size_t anchors = b->rest[0];
  const bool rows = s->rest[0] == anchors;
  if (!rows && s->rest[1] != anchors) return mismatch(spec, tensors);
  const size_t classes = rows ? s->rest[1] : s->rest[0];
  if (!is_real(tensors[static_cast<size_t>(boxes)].type) ||
      !is_real(tensors[static_cast<size_t>(scores)].type))
    return mismatch(spec, tensors);
  return Layout{.spec = &spec,
                .images = static_cast<uint32_t>(b->images),
                .anchors = static_cast<uint32_t>(std::min<size_t>(anchors, UINT32_MAX)),
                .classes = static_cast<uint32_t>(std::min<size_t>(classes, UINT32_MAX)),
                .box = {.tensor = boxes, .anchor_stride = 4, .channel_stride = 1,
                        .image_stride = anchors * 4},
                .scores = {.tensor = scores, .anchor_stride = rows ? classes : 1,
                           .channel_stride = rows ? 1 : anchors,
                           .image_stride = anchors * classes}};
}

Result<Layout> fit_outputs(const DetectorSpec& spec, std::span<const TensorView> tensors,
                           const Request& request) {
  Layout layout{.spec = &spec};
  for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
    const int index = tensor_for(spec, rule, tensors, request);
    if (index < 0) {
      if (spec.tensors[rule].optional) continue;
      return mismatch(spec, tensors);
    }
    const TensorView& tensor = tensors[static_cast<size_t>(index)];
    const Role role = spec.tensors[rule].role;
    if (role == Role::kCount) {
      layout.count = {.tensor = index, .image_stride = 1};
      const auto count = tensor.shape.count();
      if (!count || *count < layout.images) return mismatch(spec, tensors);
      continue;
    }
    const auto dims = reduce(tensor.shape, role == Role::kBoxes ? 2 : 1);
    if (!dims) return mismatch(spec, tensors);
    const size_t n = dims->rest[0];
    if (role == Role::kBoxes) {
      if (dims->rest[1] != 4 || !is_real(tensor.type)) return mismatch(spec, tensors);
      layout.images = static_cast<uint32_t>(dims->images);
      layout.anchors = static_cast<uint32_t>(std::min<size_t>(n, UINT32_MAX));
      layout.box = {.tensor = index, .anchor_stride = 4, .channel_stride = 1,
                    .image_stride = n * 4};
      continue;
    }
    if (n != layout.anchors || dims->images != layout.images) return mismatch(spec, tensors);
    if (role == Role::kScores && !is_real(tensor.type)) return mismatch(spec, tensors);
    (role == Role::kScores ? layout.score : layout.class_id) = {
        .tensor = index, .anchor_stride = 1, .image_stride = n};
  }
  return layout;
}

Status check_limits(const Layout& layout) {
  if (layout.anchors > kMaxAnchors || layout.classes > kMaxClasses)
    return fail(ErrorKind::kUnsupported,
                "at most " + std::to_string(kMaxAnchors) + " anchors and " +
                    std::to_string(kMaxClasses) + " classes",
                std::to_string(layout.anchors) + " anchors and " +
                    std::to_string(layout.classes) + " classes");
  return {};
}

std::string describe(const Layout& layout, std::span<const TensorView> tensors) {
  const auto& tensor = tensors[static_cast<size_t>(layout.box.tensor)];
  std::string text = tensor.to_string() + " as " + std::string(layout.spec->name) + ": " +
                     std::to_string(layout.anchors) + " anchors";
  if (layout.classes > 0) {
    const bool background = layout.spec->background != Background::kNone;
    text += ", " + std::to_string(layout.classes - (background ? 1 : 0)) + " classes";
    if (layout.scores.tensor == layout.box.tensor)
      text += layout.scores.channel_stride == 1 ? ", one row an anchor" : ", one plane a channel";
  }
  return text;
}

/// The family whose every required tensor goes by one of its ids.
const DetectorSpec* spec_by_ids(std::span<const TensorView> tensors) {
  for (const DetectorSpec& spec : detectors()) {
    bool all = true;
    for (const TensorRule& rule : spec.rules())
      all = all && (rule.optional || std::ranges::any_of(tensors, [&](const TensorView& tensor) {
                      return has_id(rule, tensor.id);
                    }));
    if (all) return &spec;
  }
  return nullptr;
}

constexpr size_t kCocoClasses = 80;
constexpr size_t kMostReadyRows = 1000;
constexpr size_t kLeastChannels = 5;  // a box and a class

struct Guess {
  std::string_view name;  // empty: cannot tell
  std::string remark;
};

/// One tensor of anchors x channels: with objectness or without?
Guess guess_rows(size_t anchors, size_t channels, const Request& request) {
  const DetectorSpec& dense = *find_detector("yolov8");
  const DetectorSpec& anchored = *find_detector("yolov5");
  const bool by_frame = grid_cells(request.frame, dense) == anchors;
  const bool three = !by_frame && (size_t{grid_cells(request.frame, dense)} * 3 == anchors ||
                                   square_input(static_cast<uint32_t>(anchors), anchored).width);
  if (three && channels >= 6) return {"yolov5", "three anchors a cell"};
  const bool one =
      by_frame || square_input(static_cast<uint32_t>(anchors), dense).width != 0;
  if (channels == 6 && anchors <= kMostReadyRows && !one)
    return {"yolov10", "six columns and few rows"};
  const std::string_view with_objectness = one ? "yolox" : "yolov5";
  for (const size_t classes : {size_t{request.label_count}, kCocoClasses}) {
    if (classes == 0) continue;
    const std::string why = std::to_string(classes) +
                            (classes == request.label_count ? " labels" : " classes as COCO");
    if (channels == classes + 4) return {"yolov8", why};
    if (channels == classes + 5) return {with_objectness, why};
  }
  return {};
}

Guess guess(std::span<const TensorView> tensors, size_t index, const Request& request) {
  const auto dims = reduce(tensors[index].shape, 2);
  if (!dims || !is_real(tensors[index].type)) return {};
  const size_t a = dims->rest[0], b = dims->rest[1];
  if (a < b && a >= kLeastChannels) return {"yolov8", "channels before anchors"};
  return a >= b ? guess_rows(a, b, request) : Guess{};
}

bool looks_split(std::span<const TensorView> tensors, const Request& request) {
  return tensors.size() == 2 && fit(*find_detector("ssd"), tensors, request).has_value();
}

std::unexpected<Error> cannot_tell(std::span<const TensorView> tensors) {
  const auto dims = reduce(tensors[0].shape, 2);
  if (tensors.size() == 1 && dims && is_real(tensors[0].type) &&
      std::min(dims->rest[0], dims->rest[1]) >= kLeastChannels)
    return fail(ErrorKind::kAmbiguous, "a tensor whose id or shape names its family",
                list(tensors), "its shape fits several: set detector= to the model's family, or "
                               "label-file= so that the number of classes decides");
  return fail(ErrorKind::kMismatch, "the tensors of a known detector", list(tensors),
              "set detector= to the model's family and tensor-ids= to its tensors");
}

Result<Recognition> by_shape(std::span<const TensorView> tensors, const Request& request) {
  Guess best;
  std::string_view chosen;
  if (looks_split(tensors, request)) chosen = "ssd";
  for (size_t i = 0; i < tensors.size() && chosen.empty(); ++i) {
    best = guess(tensors, i, request);
    chosen = best.name;
  }
  if (chosen.empty()) return cannot_tell(tensors);
  auto layout = fit(*find_detector(chosen), tensors, request);
  if (!layout) return std::unexpected(layout.error());
  std::string remark = describe(*layout, tensors) + " (by shape";
  if (!best.remark.empty()) remark += ", " + best.remark;
  remark += "; detector= says otherwise)";
  return Recognition{*layout, remark, chosen == "yolox"};
}

/// Only the tensors that the caller named, in that order.
Result<std::vector<size_t>> named(std::span<const TensorView> tensors, const Request& request) {
  std::vector<size_t> order;
  for (const std::string& id : request.tensor_ids) {
    const auto found = std::ranges::find(tensors, std::string_view(id), &TensorView::id);
    if (found == tensors.end())
      return fail(ErrorKind::kMismatch, "a tensor with id " + id, list(tensors),
                  "set tensor-ids= to the ids that the inference element gives");
    order.push_back(static_cast<size_t>(found - tensors.begin()));
  }
  return order;
}

Result<Recognition> recognise_all(std::span<const TensorView> tensors, const Request& request) {
  if (tensors.empty())
    return fail(ErrorKind::kMismatch, "tensors on the frame (GstTensorMeta)", "none",
                "put an inference element or tensorreplay before, and no element between that "
                "copies buffers");
  if (request.detector == "auto") {
    const DetectorSpec* spec = request.tensor_ids.empty() ? spec_by_ids(tensors) : nullptr;
    if (spec == nullptr) return by_shape(tensors, request);
    auto layout = fit(*spec, tensors, request);
    if (!layout) return std::unexpected(layout.error());
    return Recognition{*layout, describe(*layout, tensors) + " (by tensor id)",
                       spec->name == "yolox"};
  }
  const DetectorSpec* spec = find_detector(request.detector);
  if (spec == nullptr) {
    std::string names = "auto";
    for (const DetectorSpec& each : detectors()) names += ", " + std::string(each.name);
    return fail(ErrorKind::kInvalid, "a detector (" + names + ")", std::string(request.detector));
  }
  auto layout = fit(*spec, tensors, request);
  if (!layout) return std::unexpected(layout.error());
  return Recognition{*layout, describe(*layout, tensors) + " (as set)"};
}

void renumber(Layout& layout, std::span<const size_t> order) {
  for (Field* field : {&layout.box, &layout.objectness, &layout.scores, &layout.score,
                       &layout.class_id, &layout.count})
    if (field->present()) field->tensor = static_cast<int>(order[static_cast<size_t>(field->tensor)]);
}

}  // namespace

uint32_t grid_cells(Size input, const DetectorSpec& spec) {
  uint64_t cells = 0;
  for (const uint32_t stride : spec.strides)
    if (stride != 0)
      cells += uint64_t{(input.width + stride - 1) / stride} * ((input.height + stride - 1) / stride);
  return static_cast<uint32_t>(std::min<uint64_t>(cells, UINT32_MAX));
}

Size square_input(uint32_t anchors, const DetectorSpec& spec) {
  constexpr uint32_t kStep = 32, kLargest = 8192;
  if (anchors == 0) return {};
  for (uint32_t side = kStep; side <= kLargest; side += kStep)
    if (uint64_t{grid_cells({side, side}, spec)} * spec.anchors_per_cell == anchors)
      return {side, side};
  return {};
}

Size likely_input(const Shape& shape) {
  for (const size_t dim : shape.dims())
    for (const DetectorSpec& spec : detectors())
      if (const Size size = square_input(static_cast<uint32_t>(std::min<size_t>(dim, UINT32_MAX)),
                                         spec);
          size.width != 0)
        return size;
  return {};
}

Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request) {
  Result<Layout> layout = mismatch(spec, tensors);
  switch (spec.reader) {
    case Reader::kDense:
    case Reader::kReady: {
      const int by_id = tensor_for(spec, 0, tensors, request);
      if (by_id >= 0) {
        layout = fit_one_tensor(spec, tensors, by_id, request);
      } else {
        for (size_t i = 0; i < tensors.size() && !layout; ++i)
          layout = fit_one_tensor(spec, tensors, static_cast<int>(i), request);
      }
      break;
    }
    case Reader::kSplit: layout = fit_split(spec, tensors, request); break;
    case Reader::kOutputs: layout = fit_outputs(spec, tensors, request); break;
    case Reader::kHeads:
    case Reader::kHeatmap:
      return fail(ErrorKind::kUnsupported, "a family of dense, ready or split tensors",
                  std::string(spec.name) + ", which has raw heads",
                  "export the model with its decoding layer");
  }
  if (layout) KB_TRY(check_limits(*layout));
  return layout;
}

Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request) {
  if (request.tensor_ids.empty()) return recognise_all(tensors, request);
  const auto order = named(tensors, request);
  if (!order) return std::unexpected(order.error());
  std::vector<TensorView> chosen;
  for (const size_t i : *order) chosen.push_back(tensors[i]);
  auto out = recognise_all(chosen, request);
  if (out) renumber(out->layout, *order);
  return out;
}

}  // namespace keepbox
