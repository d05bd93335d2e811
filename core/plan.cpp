// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes plans: recognition, units, geometry, thresholds, each checked once.
#include "core/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <ranges>

#include "core/box.h"
#include "core/evidence.h"
#include "core/sense.h"

namespace keepbox {
namespace {

/// Beyond this, coordinates cannot be fractions of the input.
constexpr float kMostNormalized = 2.0f;
/// Beyond this, they cannot be YOLOX's offsets in cells and logarithms of sizes, which stay below
/// 5; of a picture that one thing fills no logarithm is negative.
constexpr float kMostUndecoded = 16.0f;

/// A threshold below the normal floats would be another decision on each device.
float normal(float threshold) {
  return threshold > 0 ? std::max(threshold, std::numeric_limits<float>::min()) : 0.0f;
}

Status check_settings(const Settings& s) {
  const auto bad = [](std::string what, float found, std::string name) {
    return fail(ErrorKind::kInvalid, std::move(what), std::to_string(found), "set " + name);
  };
  if (!std::isfinite(s.score_threshold))
    return bad("a finite score-threshold", s.score_threshold, "score-threshold");
  if (!(s.iou_threshold >= 0 && s.iou_threshold <= 1))
    return bad("an iou-threshold in 0..1", s.iou_threshold, "iou-threshold");
  for (const auto& [id, threshold] : s.class_thresholds)
    if (!std::isfinite(threshold) || id >= kMaxClasses)
      return bad("finite class-thresholds of classes below " + std::to_string(kMaxClasses),
                 threshold, "class-thresholds");
  if (s.frame.size.width == 0 || s.frame.size.height == 0)
    return fail(ErrorKind::kInvalid, "a frame size", "0 pixels", "fix the caps before this");
  return check_filters(s.filters);
}

Status check_readable(const DetectorSpec& spec) {
  switch (spec.coding) {
    case BoxCoding::kCenterSize:
    case BoxCoding::kCorners:
    case BoxCoding::kCornersYX:
    case BoxCoding::kGridExp:
    case BoxCoding::kPriorDelta:
    case BoxCoding::kPriorDeltaXY: return {};
    default:
      return fail(ErrorKind::kUnsupported, "a box coding that a reader knows",
                  std::string(spec.name), "export the model with its decoding layer");
  }
}

/// What a look at all boxes of the first image tells.
struct Evidence {
  float largest = 0;           // of |coordinate|
  bool negative_size = false;  // a width or height below zero: logarithms
  bool readable = false;       // in system memory
};

Evidence look(const Layout& layout, std::span<const TensorView> tensors) {
  const auto box = ranges(layout, layout[Part::kBox], 4, tensors);
  Evidence out{.readable = !box.empty()};
  for (size_t channel = 0; channel < box.size(); ++channel) {
    out.largest = std::max({out.largest, -box[channel].least, box[channel].most});
    out.negative_size = out.negative_size || (channel >= 2 && box[channel].least < 0);
  }
  return out;
}

Status check_tensors(const Layout& layout, std::span<const TensorView> tensors) {
  for (const Field& field : layout.fields)
    if (field.present()) KB_TRY(check_bounds(tensors[static_cast<size_t>(field.tensor)]));
  return {};
}

/// Settles YOLOX's coding and the units of coordinates, by settings or by evidence.
void settle_units(Plan& plan, const Settings& settings, bool box_coding_open,
                  std::span<const TensorView> tensors, Size model) {
  const Evidence seen = look(plan.layout, tensors);
  if (box_coding_open && seen.readable && !seen.negative_size && seen.largest > kMostUndecoded) {
    plan.spec = find_detector("yolox-decoded");
    plan.layout.spec = plan.spec;
    plan.remark += "; boxes are decoded already";
  }
  if (plan.spec->coding == BoxCoding::kGridExp) {
    plan.provisional = box_coding_open && !seen.readable;
    return;
  }
  Units units = settings.units != Units::kAuto ? settings.units : plan.spec->units;
  if (units == Units::kAuto) {
    plan.provisional = !seen.readable || seen.largest == 0;
    units = !plan.provisional && seen.largest <= kMostNormalized ? Units::kNormalized
                                                                 : Units::kPixels;
    if (!plan.provisional)
      plan.remark += units == Units::kNormalized ? "; coordinates are in 0..1"
                                                 : "; coordinates are in pixels";
  }
  if (units == Units::kNormalized) {
    plan.rules.boxes.unit_x = static_cast<float>(model.width);
    plan.rules.boxes.unit_y = static_cast<float>(model.height);
    if (!plan.spec->priors && seen.largest > kMostNormalized)
      plan.warnings.push_back({ErrorKind::kMismatch, "coordinates in 0..1", "larger ones",
                               "set box-units=pixels, or another detector="});
  }
}

/// A family that was recognised has to agree with the numbers; one that was set is believed.
Status confirm(Plan& plan, std::span<const TensorView> tensors, const Request& request) {
  const Status agrees = check_numbers(plan.layout, tensors);
  if (agrees) return {};
  Error error = agrees.error();
  if (plan.detector_set) {
    plan.warnings.push_back(std::move(error));
    return {};
  }
  const auto families =
      families_of(tensors[static_cast<size_t>(plan.layout[Part::kBox].tensor)], request);
  if (!families.empty()) error.found += ", which fits " + families;
  return std::unexpected(std::move(error));
}

/// The picture whose grid the anchors may be: the model's input, where that is told.
Size picture_of(const Settings& settings) {
  if (settings.letterbox) return settings.letterbox->model;
  return settings.tensor_frame.width ? settings.tensor_frame : settings.frame.size;
}

/// The model's input: as told, as set, as the frame if its grid fits, else the square with that
/// grid.
Size settle_model(const Settings& settings, const Layout& layout) {
  if (settings.letterbox) return settings.letterbox->model;
  const Size frame = picture_of(settings);
  if (settings.model.width != 0 && settings.model.height != 0) return settings.model;
  const uint64_t cells = grid_cells(frame, *layout.spec);
  if (cells * layout.spec->anchors_per_cell == layout.anchors || cells == 0) return frame;
  const Size square = square_input(layout.anchors, *layout.spec);
  return square.width != 0 ? square : frame;
}

Status settle_levels(Plan& plan, Size model, bool told) {
  if (plan.spec->coding != BoxCoding::kGridExp) return {};
  if (grid_cells(model, *plan.spec) != plan.layout.anchors)
    return fail(ErrorKind::kMismatch,
                std::to_string(grid_cells(model, *plan.spec)) + " anchors for an input of " +
                    std::to_string(model.width) + "x" + std::to_string(model.height),
                std::to_string(plan.layout.anchors),
                told ? "set another detector="
                     : "set model-width= and model-height=, or another detector=");
  uint32_t first = 0;
  for (const uint32_t stride : plan.spec->strides) {
    if (stride == 0) break;
    const uint32_t width = (model.width + stride - 1) / stride;
    BoxRules& boxes = plan.rules.boxes;
    boxes.levels[boxes.level_count++] = {first, width, static_cast<float>(stride)};
    first += width * ((model.height + stride - 1) / stride);
  }
  return {};
}

void settle_rules(Plan& plan) {
  const DetectorSpec& spec = *plan.spec;
  plan.rules.anchors = plan.layout.anchors;
  plan.rules.classes = plan.layout.classes;
  plan.rules.scores = {spec.score, spec.activation, spec.logit_limit};
  plan.rules.boxes.coding = spec.coding;
  plan.rules.boxes.cell_offset = spec.cell_offset;
  std::ranges::copy(spec.box_scale, plan.rules.boxes.scale);
}

Status settle_priors(Plan& plan, const Settings& settings) {
  if (!plan.spec->priors) return {};
  if (settings.priors.size() != plan.layout.anchors)
    return fail(ErrorKind::kMismatch, std::to_string(plan.layout.anchors) + " prior boxes",
                std::to_string(settings.priors.size()),
                "set priors-file= to the model's table of cy cx h w");
  plan.priors = settings.priors;
  return {};
}

void settle_classes(Plan& plan, const Settings& settings) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t scores = plan.layout.classes;
  plan.rules.first_class = spec.background == Background::kFirst && scores > 0 ? 1 : 0;
  plan.rules.end_class = spec.background == Background::kLast && scores > 0 ? scores - 1 : scores;
  const uint32_t ids = scores == 0 ? kMaxClasses : scores;
  plan.class_threshold.assign(ids, settings.score_threshold);
  plan.class_wanted.assign(ids, settings.include_classes.empty() ? 1 : 0);
  for (const auto& [id, threshold] : settings.class_thresholds)
    if (id < ids) plan.class_threshold[id] = threshold;
  for (const uint32_t id : settings.include_classes)
    if (id < ids) plan.class_wanted[id] = 1;
  for (const uint32_t id : settings.exclude_classes)
    if (id < ids) plan.class_wanted[id] = 0;
  plan.rules.class_ids = ids;
  plan.rules.lowest_threshold = std::ranges::min(plan.class_threshold);
  const auto lowest = [&](float each) { return each == plan.rules.lowest_threshold; };
  plan.rules.uniform = std::ranges::all_of(plan.class_threshold, lowest) &&
                       !std::ranges::contains(plan.class_wanted, 0);
  settle_filters(plan, settings.filters);
}

void settle_limits(Plan& plan, const Settings& settings) {
  const uint32_t anchors = plan.layout.anchors;
  plan.rules.max_detections = std::min(settings.max_detections, anchors);
  plan.rules.pre_nms_top_k =
      settings.pre_nms_top_k == 0 ? anchors : std::min(settings.pre_nms_top_k, anchors);
  plan.rules.kept_capacity =
      plan.rules.contract.per_class_limit ? anchors : plan.rules.max_detections;
  plan.rules.method = settings.method == NmsMethod::kAuto ? plan.spec->nms : settings.method;
}

/// Keeps only the tensors that some field lies in, and numbers them anew.
void settle_reads(Plan& plan, std::span<const TensorView> tensors) {
  const auto fields = std::span(plan.layout.fields).first(kPartsRead);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const auto lies_here = [i](const Field& field) { return field.tensor == static_cast<int>(i); };
    if (std::ranges::none_of(fields, lies_here)) continue;
    const auto number = static_cast<int>(plan.reads.size());
    for (Field& field : fields | std::views::filter(lies_here)) field.tensor = number;
    plan.reads.push_back(i);
    plan.forms.push_back({std::string(tensors[i].id), tensors[i].type, tensors[i].shape});
  }
}

Request request_of(const Settings& settings) {
  return {.detector = settings.detector,
          .told = settings.told_detector,
          .tensor_ids = settings.tensor_ids,
          .label_count = settings.label_count,
          .class_count = settings.class_count,
          .frame = picture_of(settings)};
}

}  // namespace

bool Plan::holds_for(std::span<const TensorView> tensors) const {
  if (provisional) return false;
  for (size_t i = 0; i < forms.size(); ++i) {
    if (reads[i] >= tensors.size()) return false;
    const TensorView& view = tensors[reads[i]];
    if (forms[i].id != view.id || forms[i].type != view.type || forms[i].shape != view.shape)
      return false;
  }
  return true;
}

Result<Plan> make_plan(const Settings& settings, std::span<const TensorView> tensors) {
  KB_TRY(check_settings(settings));
  const NmsContract* contract = find_contract(settings.contract);
  if (contract == nullptr)
    return fail(ErrorKind::kInvalid, "a contract that nms-contract knows", settings.contract);

  const Request request = request_of(settings);
  auto recognition = recognise(tensors, request);
  if (!recognition) return std::unexpected(recognition.error());
  Plan plan{.spec = recognition->layout.spec,
            .layout = recognition->layout,
            .rules = {.contract = *contract, .iou_threshold = normal(settings.iou_threshold)},
            .detector_set = recognition->set,
            .remark = std::move(recognition->remark)};
  plan.rules.contract.class_agnostic |= settings.class_agnostic;
  KB_TRY(check_readable(*plan.spec));
  KB_TRY(check_tensors(plan.layout, tensors));

  const Size model = settle_model(settings, plan.layout);
  settle_units(plan, settings, recognition->box_coding_open, tensors, model);
  KB_TRY(confirm(plan, tensors, request));
  settle_rules(plan);
  KB_TRY(settle_levels(plan, model, settings.letterbox.has_value()));
  KB_TRY(settle_priors(plan, settings));
  settle_classes(plan, settings);
  settle_limits(plan, settings);
  std::ranges::move(senseless(plan, settings), std::back_inserter(plan.warnings));
  plan.letterbox = settings.letterbox
                       ? scaled_to(*settings.letterbox, settings.frame.size)
                       : make_letterbox(settings.frame, {.size = model}, settings.resize);
  settle_reads(plan, tensors);
  return plan;
}

void refit(Plan& plan, const Letterbox& letterbox, Size frame) {
  plan.letterbox = scaled_to(letterbox, frame);
}

Status retune(Plan& plan, const Settings& settings) {
  KB_TRY(check_settings(settings));
  plan.rules.iou_threshold = normal(settings.iou_threshold);
  settle_classes(plan, settings);
  plan.warnings = senseless(plan, settings);
  return {};
}

}  // namespace keepbox
