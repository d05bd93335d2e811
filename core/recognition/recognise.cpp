// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognises the family of tensors by ids, names, shapes and values.
#include "core/recognition/recognise.h"
#include "core/recognition/fit.h"
#include "core/recognition/grid.h"
#include "core/recognition/layout.h"

#include <algorithm>
#include <array>
#include <format>
#include <optional>
#include <vector>

#include "core/recognition/by_shape.h"
#include "core/recognition/signs.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

std::string describe(const Layout& layout, std::span<const TensorView> tensors) {
  const auto& tensor = tensors[static_cast<size_t>(layout[FieldId::kBox].tensor)];
  std::string text =
      tensor.to_string() + " as " + family_text(layout) + ": " + counted(layout.anchors, "anchor");
  if (layout.classes > 0 && layout[FieldId::kScores].tensor == layout[FieldId::kBox].tensor)
    text += layout[FieldId::kScores].channel_stride == 1 ? ", one row per anchor"
                                                         : ", one plane per channel";
  return text;
}

/// Returns the number of classes set by the caller or the labels, or 0.
size_t known_classes(const Request& request) {
  return request.class_count != 0 ? request.class_count : request.label_count;
}

/// True if the rule's tensor is present, or one per level.
bool has_ids(const DetectorSpec& spec, const TensorRule& rule,
             std::span<const TensorView> tensors) {
  const auto there = [&](uint32_t stride) {
    return std::ranges::any_of(
        tensors, [&](const TensorView& tensor) { return rule.has(tensor.id, stride); });
  };
  const auto levels = std::span(spec.strides).first(spec.level_count());
  return there(0) || (!levels.empty() && std::ranges::all_of(levels, there));
}

/// Returns the first family whose required tensors all have one of its ids.
const DetectorSpec* spec_by_ids(std::span<const TensorView> tensors) {
  for (const DetectorSpec& spec : detectors())
    if (std::ranges::all_of(spec.rules(), [&](const TensorRule& rule) {
          return rule.optional || has_ids(spec, rule, tensors);
        }))
      return &spec;
  return nullptr;
}

constexpr size_t kDetectionOutputColumns = 7;
constexpr size_t kMaxReadyRows = 1000;
constexpr size_t kMinReadyGrid = 21;  // cells of the smallest input: fewer rows are not a grid
constexpr size_t kPoseChannels = 56;  // a box, a class, 17 keypoints of 3
constexpr size_t kSegmentationChannels = 116;  // a box, 80 classes, 32 mask coefficients

struct FamilyGuess {
  std::string_view name;  // empty: cannot tell
  std::string remark;
  Basis basis = Basis::kShape;
};

/// Returns the family that the values alone identify.
FamilyGuess guess_signs(RowSigns signs, bool grid) {
  switch (signs) {
    case RowSigns::kCorners: return {"yolov10", "rows of corners, score, class", Basis::kNumbers};
    case RowSigns::kQueryRows:
      return {"rtdetr-ultralytics-rows", "rows of centre, size, score, class", Basis::kNumbers};
    case RowSigns::kGridOffsets:
      return grid ? FamilyGuess{"yolox", "offsets from a grid", Basis::kNumbers} : FamilyGuess{};
    case RowSigns::kOnes:
      return grid ? FamilyGuess{"yolov6", "objectness of 1 everywhere", Basis::kNumbers}
                  : FamilyGuess{};
    case RowSigns::kQueries:
      return grid ? FamilyGuess{}
                  : FamilyGuess{"rtdetr-ultralytics", "queries in 0..1", Basis::kNumbers};
    default: return {};
  }
}

std::string why_classes(size_t classes, const Request& request) {
  if (classes == request.class_count) return counted(classes, "class") + " as set";
  if (classes == request.label_count) return counted(classes, "label");
  return counted(classes, "class") + ", as in COCO";
}

/// Requires both tensors and a grid of one anchor per cell, because other models have prototypes
/// too.
FamilyGuess guess_masks(size_t a, size_t b, size_t maps, const Request& request) {
  const DetectorSpec& dense = *find_detector("yolov8");
  const size_t anchors = std::max(a, b), channels = std::min(a, b);
  const bool one = grid_anchors(request.frame, dense) == anchors ||
                   square_input(static_cast<uint32_t>(anchors), dense).width != 0;
  if (!one || channels < kMinChannels || channels - kMinChannels < maps) return {};
  return {"yolov8-seg", "with prototypes"};
}

/// Guesses the family of one tensor of anchors x channels, with or without objectness.
FamilyGuess guess_rows(const TensorView& tensor, size_t anchors, size_t channels,
                       const Request& request) {
  const DetectorSpec& dense = *find_detector("yolov8");
  const DetectorSpec& anchored = *find_detector("yolov5");
  const bool by_frame = grid_anchors(request.frame, dense) == anchors;
  const bool square_of_three = square_input(static_cast<uint32_t>(anchors), anchored).width != 0;
  const bool one = by_frame || square_input(static_cast<uint32_t>(anchors), dense).width != 0;
  if (auto sure = guess_signs(signs_of(tensor, anchors, channels), one || square_of_three);
      !sure.name.empty())
    return sure;
  // The number of anchors fits this frame's grid as well as a square with three anchors per cell;
  // without objectness it can only be the former.
  if (by_frame && square_of_three && channels != kCocoClasses + 4 &&
      channels != known_classes(request) + 4)
    return {};
  const bool three =
      !by_frame && (size_t{grid_anchors(request.frame, dense)} * 3 == anchors || square_of_three);
  if (three && channels >= 6) return {"yolov5", "three anchors per cell"};
  if (channels == 6 && anchors <= kMaxReadyRows && !one)
    return {"yolov10", "six columns and few rows"};
  const std::string_view with_objectness = one ? "yolox" : "yolov5";
  for (const size_t classes : {known_classes(request), kCocoClasses}) {
    if (classes == 0) continue;
    const std::string why = why_classes(classes, request);
    if (channels == classes + 4) return {"yolov8", why};
    if (channels == classes + 5) return {with_objectness, why};
  }
  return {};
}

/// Guesses YOLOv8 for one tensor of channels x anchors, unless the channels fit other families.
FamilyGuess guess_planes(size_t channels, size_t anchors, const Request& request) {
  const size_t classes = channels - 4;
  if (classes == known_classes(request) || (known_classes(request) == 0 && classes == kCocoClasses))
    return {"yolov8", why_classes(classes, request)};
  const DetectorSpec& dense = *find_detector("yolov8");
  const bool grid = grid_anchors(request.frame, dense) == anchors ||
                    square_input(static_cast<uint32_t>(anchors), dense).width != 0;
  const bool other = channels == kPoseChannels || channels == kSegmentationChannels ||
                     channels == kCocoClasses + 5;
  if (grid && !other) return {"yolov8", "channels before the anchors of a grid"};
  return {};
}

FamilyGuess guess(std::span<const TensorView> tensors, size_t index, const Request& request) {
  const TensorView& tensor = tensors[index];
  const auto dims = batched(tensor.shape, 2);
  if (!dims || !is_floating(tensor.type) || is_maps(tensor.shape)) return {};
  const size_t a = dims->dims[0], b = dims->dims[1];
  if (tensor.shape.rank() == 4 && b == kDetectionOutputColumns)
    return {"detection-output", "rows of seven values in four dimensions", Basis::kNumbers};
  if (is_plane(tensor.shape)) return {};
  if (const size_t maps = prototypes(tensors); maps != 0)
    if (FamilyGuess masks = guess_masks(a, b, maps, request); !masks.name.empty()) return masks;
  if (b == 6 && a < kMinReadyGrid) {
    if (auto sure = guess_signs(signs_of(tensor, a, b), false); !sure.name.empty()) return sure;
    return {"yolov10", "six columns and few rows"};
  }
  if (a < b) return a >= kMinChannels ? guess_planes(a, b, request) : FamilyGuess{};
  return guess_rows(tensor, a, b, request);
}

/// Lists the inputs of the families in a text, if they differ.
std::string inputs_text(const std::string& families) {
  std::string text;
  for (const std::string_view name : {"yolox", "yolov8", "yolov5", "yolov10"})
    if (families.contains(name))
      text += (text.empty() ? "" : "; ") + std::string(name) + ": " +
              input_text(find_detector(name)->input);
  return text.contains(';') ? text : std::string();
}

std::unexpected<Error> cannot_tell(std::span<const TensorView> tensors, const Request& request) {
  const std::string other = other_task(tensors);
  const std::string families =
      tensors.size() == 1 && other.empty() ? families_of(tensors[0], request) : std::string();
  if (families.empty())
    return fail(ErrorKind::kMismatch, "the tensors of a known detector",
                to_string(tensors) + (other.empty() ? "" : ", probably the output of " + other),
                other.empty() ? "set detector= to the model's family or a file that describes it, "
                                "and tensor-ids= to its tensors"
                              : "use an object detection model, or remove boxdecode to pass other "
                                "tensors on unchanged");
  std::string hint = "set detector= to one of them";
  if (known_classes(request) == 0)
    hint += ", or label-file= or num-classes= so that the number of classes decides";
  if (const std::string inputs = inputs_text(families); !inputs.empty())
    hint += "; tensorinfer then uses the input of that family, other elements need it set (" +
            inputs + ")";
  return fail(ErrorKind::kAmbiguous, "a tensor whose id or shape names its family",
              to_string(tensors) + ", which fits " + families, std::move(hint));
}

/// Converts indices into a selection of tensors to indices into all tensors.
void renumber(Layout& layout, std::span<const size_t> order) {
  for (Segment& segment : layout.segments)
    for (Field& field : segment.fields)
      if (field.present())
        field.tensor = static_cast<int>(order[static_cast<size_t>(field.tensor)]);
}

/// Recognises a family's outputs with unknown names. @param order the family's tensors, empty for
/// none.
std::optional<Recognition> in_roles(std::span<const TensorView> tensors, const Request& request,
                                    std::string_view family, const std::vector<size_t>& order,
                                    const char* by) {
  std::vector<TensorView> ordered;
  for (const size_t i : order) ordered.push_back(tensors[i]);
  const std::vector<std::string> roles(order.size());
  Request in_order = request;
  in_order.tensor_ids = roles;
  if (order.empty()) return std::nullopt;
  auto layout = fit(*find_detector(family), ordered, in_order);
  if (!layout) return std::nullopt;
  renumber(*layout, order);
  std::string remark = describe(*layout, tensors) + " (" + by + ")";
  return Recognition{*std::move(layout), std::move(remark), false, Basis::kNumbers, {}};
}

/// Outputs after suppression, which no other family has.
std::optional<Recognition> by_roles(std::span<const TensorView> tensors, const Request& request) {
  if (auto ssd = in_roles(tensors, request, "ssd-postprocess", find_ssd_outputs(tensors),
                          "by the values of four tensors"))
    return ssd;
  return in_roles(tensors, request, "detr-postprocess", find_torchvision_outputs(tensors),
                  "by the types of three tensors");
}

Result<Recognition> by_shape(std::span<const TensorView> tensors, const Request& request) {
  if (auto known = by_roles(tensors, request)) return *std::move(known);
  FamilyGuess best;
  std::string_view chosen;
  size_t index = 0;
  auto several = propose(tensors, request);
  if (!several) return std::unexpected(several.error());
  if (*several) {
    std::string remark = describe((*several)->layout, tensors) + " (by shapes, ";
    remark += (*several)->why + "; detector= overrides)";
    return Recognition{(*several)->layout, std::move(remark), false, Basis::kNumbers,
                       std::move((*several)->doubt)};
  }
  for (size_t i = 0; i < tensors.size() && chosen.empty(); ++i) {
    best = guess(tensors, i, request);
    chosen = best.name;
    index = i;
  }
  if (chosen.empty()) return cannot_tell(tensors, request);
  // Fits only the tensor that was recognised, because another one may fit the family by chance.
  const DetectorSpec& spec = *find_detector(chosen);
  auto layout = fit_at(spec, tensors, index, request);
  if (!layout) return std::unexpected(layout.error());
  std::string remark = describe(*layout, tensors) + " (by shape";
  if (!best.remark.empty()) remark += ", " + best.remark;
  remark += "; detector= overrides)";
  return Recognition{*layout, remark, chosen == "yolox", best.basis};
}

/// Returns the indices of the tensors in tensor_ids, in that order.
Result<std::vector<size_t>> named(std::span<const TensorView> tensors, const Request& request) {
  std::vector<size_t> order;
  for (const std::string& id : request.tensor_ids) {
    const auto found = std::ranges::find(tensors, std::string_view(id), &TensorView::id);
    if (found == tensors.end())
      return fail(ErrorKind::kMismatch, "a tensor with id " + id, to_string(tensors),
                  "set tensor-ids= to ids of the inference element's tensors");
    order.push_back(static_cast<size_t>(found - tensors.begin()));
  }
  return order;
}

/// Recognises tensors by their generic names, if the shapes fit.
Result<std::optional<Recognition>> by_plain_names(std::span<const TensorView> tensors,
                                                  const Request& request) {
  auto found = propose_by_names(tensors, request);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  std::string remark = describe((*found)->layout, tensors) + " (by tensor names)";
  return Recognition{std::move((*found)->layout), std::move(remark)};
}

/// Recognises tensors by the producer's declaration, or by ids, names or shapes.
Result<Recognition> by_itself(std::span<const TensorView> tensors, const Request& request) {
  const bool named = !request.tensor_ids.empty();
  const DetectorSpec* told = named ? nullptr : find_detector(request.told);
  const DetectorSpec* spec = told != nullptr || named ? told : spec_by_ids(tensors);
  if (spec != nullptr) {
    const auto layout = fit(*spec, tensors, request);
    if (!layout) return std::unexpected(layout.error());
    const char* how = told != nullptr ? " (declared by the model)" : " (by tensor id)";
    return Recognition{*layout, describe(*layout, tensors) + how, spec->name == "yolox"};
  }
  if (!named) {
    auto plain = by_plain_names(tensors, request);
    if (!plain) return std::unexpected(plain.error());
    if (*plain) return **std::move(plain);
  }
  return by_shape(tensors, request);
}

Result<Recognition> recognise_all(std::span<const TensorView> tensors, const Request& request) {
  if (tensors.empty())
    return fail(ErrorKind::kMismatch, "tensors on the frame (GstTensorMeta)", "none",
                "put an inference element or tensorreplay upstream, with no element in between "
                "that drops buffer metadata");
  if (request.family == nullptr && request.detector == "auto") return by_itself(tensors, request);
  const DetectorSpec* spec =
      request.family != nullptr ? request.family : find_detector(request.detector);
  if (spec == nullptr) {
    std::string names = "auto";
    for (const DetectorSpec& each : detectors()) names += ", " + std::string(each.name);
    return fail(ErrorKind::kInvalid, "a detector (" + names + ")", std::string(request.detector));
  }
  auto layout = fit(*spec, tensors, request);
  if (!layout) return std::unexpected(layout.error());
  return Recognition{*layout, describe(*layout, tensors) + " (as set)", false, Basis::kSet};
}

}  // namespace

std::string input_text(const InputRule& input) {
  if (!input.known()) return {};
  const auto three = [](const std::array<float, 3>& of) {
    const auto number = [](float value) { return std::format("{}", value); };
    const bool same = of[0] == of[1] && of[1] == of[2];
    return same ? number(of[0]) : number(of[0]) + "," + number(of[1]) + "," + number(of[2]);
  };
  constexpr const char* kModes[] = {"stretch", "letterbox-center", "letterbox-topleft",
                                    "letterbox-scaler"};
  return std::string("channel-order=") + (input.bgr ? "bgr" : "rgb") +
         " input-mean=" + three(input.mean) + " input-std=" + three(input.deviation) +
         " resize-mode=" + kModes[static_cast<size_t>(input.resize)];
}

bool is_plane(const Shape& shape) {
  constexpr size_t kMinSide = 16;
  if (shape.rank() != 4 || shape[1] != 1) return false;
  const size_t a = shape[2], b = shape[3];
  return std::min(a, b) >= kMinSide && std::max(a, b) <= 4 * std::min(a, b);
}

bool is_maps(const Shape& shape) {
  return shape.rank() == 4 && shape[1] > 1 && shape[2] > 1 && shape[3] > 1;
}

bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors) {
  return std::ranges::all_of(spec.rules(), [&](const TensorRule& rule) {
    return rule.optional || std::ranges::any_of(tensors, [&](const TensorView& tensor) {
             return rule.has_plain(tensor.id);
           });
  });
}

size_t prototypes(std::span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors)
    if (is_maps(tensor.shape) && is_floating(tensor.type))
      return std::min(tensor.shape[1], tensor.shape[3]);  // fewer than a map has columns
  return 0;
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
