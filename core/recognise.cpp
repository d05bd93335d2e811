// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognises the family of tensors: by ids, by shapes, or not at all.
#include "core/layout.h"

#include <algorithm>
#include <vector>

namespace keepbox {
namespace {

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
                      return rule.has(tensor.id);
                    }));
    if (all) return &spec;
  }
  return nullptr;
}

constexpr size_t kCocoClasses = 80;
constexpr size_t kMostReadyRows = 1000;
constexpr size_t kLeastReadyGrid = 21;  // cells of the smallest input: fewer rows are no grid
constexpr size_t kLeastChannels = 5;    // a box and a class
constexpr size_t kPoseChannels = 56;           // a box, a class, 17 keypoints of 3
constexpr size_t kSegmentationChannels = 116;  // a box, 80 classes, 32 mask coefficients

struct Guess {
  std::string_view name;  // empty: cannot tell
  std::string remark;
};

/// One tensor of anchors x channels: with objectness or without?
Guess guess_rows(size_t anchors, size_t channels, const Request& request) {
  const DetectorSpec& dense = *find_detector("yolov8");
  const DetectorSpec& anchored = *find_detector("yolov5");
  const bool by_frame = grid_cells(request.frame, dense) == anchors;
  const bool square_of_three =
      square_input(static_cast<uint32_t>(anchors), anchored).width != 0;
  // As many cells as this frame has, and as many as a square of three anchors a cell: without
  // objectness it can only be the first.
  if (by_frame && square_of_three && channels != kCocoClasses + 4 &&
      channels != request.label_count + 4)
    return {};
  const bool three = !by_frame && (size_t{grid_cells(request.frame, dense)} * 3 == anchors ||
                                   square_of_three);
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

/// One tensor of channels x anchors: YOLOv8's, unless its channels may be something else.
Guess guess_planes(size_t channels, size_t anchors, const Request& request) {
  const size_t classes = channels - 4;
  if (classes == request.label_count) return {"yolov8", std::to_string(classes) + " labels"};
  if (request.label_count == 0 && classes == kCocoClasses)
    return {"yolov8", "80 classes as COCO"};
  const DetectorSpec& dense = *find_detector("yolov8");
  const bool grid = grid_cells(request.frame, dense) == anchors ||
                    square_input(static_cast<uint32_t>(anchors), dense).width != 0;
  const bool other = channels == kPoseChannels || channels == kSegmentationChannels ||
                     channels == kCocoClasses + 5;
  if (grid && !other) return {"yolov8", "channels before the anchors of a grid"};
  return {};
}

Guess guess(std::span<const TensorView> tensors, size_t index, const Request& request) {
  const auto dims = batched(tensors[index].shape, 2);
  if (!dims || !is_floating(tensors[index].type)) return {};
  const size_t a = dims->dims[0], b = dims->dims[1];
  if (b == 6 && a < kLeastReadyGrid) return {"yolov10", "six columns and few rows"};
  if (a < b) return a >= kLeastChannels ? guess_planes(a, b, request) : Guess{};
  return guess_rows(a, b, request);
}

bool looks_split(std::span<const TensorView> tensors, const Request& request) {
  return tensors.size() == 2 && fit(*find_detector("ssd"), tensors, request).has_value();
}

/// The families that one tensor of anchors x channels may belong to, with their classes.
std::string possible(size_t anchors, size_t channels) {
  const auto classes = [&](size_t taken) {
    return " (" + std::to_string(channels - taken) + " classes)";
  };
  std::string text = "yolov8" + classes(4);
  if (channels > 5) text = "yolov5 or yolox" + classes(5) + ", " + text;
  if (channels == 6) text += ", yolov10";
  if (channels == kPoseChannels) text += ", yolov8-pose";
  if (channels == kSegmentationChannels) text += ", yolov8-seg";
  return text + " of " + std::to_string(anchors) + " anchors";
}

std::unexpected<Error> cannot_tell(std::span<const TensorView> tensors, const Request& request) {
  const auto dims = batched(tensors[0].shape, 2);
  if (tensors.size() == 1 && dims && is_floating(tensors[0].type)) {
    const size_t anchors = std::max(dims->dims[0], dims->dims[1]);
    const size_t channels = std::min(dims->dims[0], dims->dims[1]);
    if (channels >= kLeastChannels)
      return fail(ErrorKind::kAmbiguous, "a tensor whose id or shape names its family",
                  to_string(tensors) + ", which fits " + possible(anchors, channels),
                  request.label_count == 0
                      ? "set detector= to one of them, or label-file= so that the number of "
                        "classes decides"
                      : "set detector= to one of them");
  }
  return fail(ErrorKind::kMismatch, "the tensors of a known detector", to_string(tensors),
              "set detector= to the model's family and tensor-ids= to its tensors");
}

/// Tensor numbers among some tensors become those among all.
void renumber(Layout& layout, std::span<const size_t> order) {
  for (Field* field : {&layout.box, &layout.objectness, &layout.scores, &layout.score,
                       &layout.class_id, &layout.count})
    if (field->present()) field->tensor = static_cast<int>(order[static_cast<size_t>(field->tensor)]);
}

Result<Recognition> by_shape(std::span<const TensorView> tensors, const Request& request) {
  Guess best;
  std::string_view chosen;
  size_t index = 0;
  const bool split = looks_split(tensors, request);
  if (split) chosen = "ssd";
  for (size_t i = 0; i < tensors.size() && chosen.empty(); ++i) {
    best = guess(tensors, i, request);
    chosen = best.name;
    index = i;
  }
  if (chosen.empty()) return cannot_tell(tensors, request);
  // Only the tensor that was recognised: another one may fit the family by chance.
  auto layout = fit(*find_detector(chosen), split ? tensors : tensors.subspan(index, 1), request);
  if (!layout) return std::unexpected(layout.error());
  if (!split) renumber(*layout, std::span(&index, 1));
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
      return fail(ErrorKind::kMismatch, "a tensor with id " + id, to_string(tensors),
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

}  // namespace

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
