// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes and checks the plan of a frame.
#include "core/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>
#include <limits>

#include "core/formula/coding.h"
#include "core/model/contracts.h"
#include "core/plan/anchors.h"
#include "core/plan/limits.h"
#include "core/plan/lint.h"
#include "core/recognition/fit.h"
#include "core/recognition/maps.h"
#include "core/recognition/shapes.h"
#include "core/recognition/texts.h"
#include "core/recognition/value_checks.h"

namespace keepbox {

/// Adds the other families that fit to a hint to set detector=. If none fits and the hint is empty,
/// suggests a file that describes the model's family.
void suggest_others(Error& error, const Plan& plan, std::span<const TensorView> tensors,
                    const Request& request, Size input);

/// Adds the conventions of the producer's framework that apply to the remark.
void note_declared(Plan& plan, const Settings& settings);

/// Sets the rules of a plan. Returns an error if its boxes cannot be joined by them.
Status settle_tile_rules(Plan& plan, const Settings& settings);

/// Sets the tiles of a plan, which are the images of its tensors, their rules and their limits.
/// @param frame pixels.
Status settle_tiles(Plan& plan, const Settings& settings, Size frame);

/// Settles the coordinates' units by settings, family or values, with a remark and warnings.
/// Without readable values the plan is provisional.
/// @param box_coding_unknown true if the values have not settled the coding of cells yet.
/// @param model size of the model input.
void settle_units(Plan& plan, const Settings& settings, bool box_coding_unknown,
                  std::span<const TensorView> tensors, Size model);

namespace {

/// Returns 0 or a normal float, because devices treat subnormal floats differently.
float normal(float threshold) {
  return threshold > 0 ? std::max(threshold, std::numeric_limits<float>::min()) : 0.0f;
}

std::unexpected<Error> bad(std::string_view name, float value, std::string_view rule) {
  return reject(ErrorKind::kInvalid, std::format("{}={} is not possible", name, value),
                std::format("set {}= to {}", name, rule));
}

/// Checks the settings of suppression, except for the score threshold.
Status check_suppression(const Settings& s) {
  if (s.iou_threshold && !(*s.iou_threshold >= 0 && *s.iou_threshold <= 1))
    return bad("iou-threshold", *s.iou_threshold, "a number from 0 to 1");
  const bool normal_sigma =
      s.nms_sigma >= std::numeric_limits<float>::min() && std::isfinite(s.nms_sigma);
  if (s.nms_sigma != 0 && !normal_sigma) return bad("nms-sigma", s.nms_sigma, "a number above 0");
  return {};
}

Status check_settings(const Settings& s) {
  if (s.score_threshold && !std::isfinite(*s.score_threshold))
    return bad("score-threshold", *s.score_threshold, "a finite number");
  if (s.track_score_threshold && !std::isfinite(*s.track_score_threshold))
    return bad("track-score-threshold", *s.track_score_threshold, "a finite number");
  KB_TRY(check_suppression(s));
  for (const auto& [id, threshold] : s.class_thresholds)
    if (!std::isfinite(threshold) || id >= kMaxClasses)
      return bad("class-thresholds", threshold,
                 std::format("finite numbers for classes below {}", kMaxClasses));
  if ((s.frame.size.width == 0) != (s.frame.size.height == 0))
    return reject(ErrorKind::kInvalid,
                  std::format("A frame of {}x{} pixels is not possible", s.frame.size.width,
                              s.frame.size.height),
                  "fix the caps upstream");
  return check_filters(s.filters);
}

Status check_tensors(const Layout& layout, std::span<const TensorView> tensors) {
  for (const Segment& segment : layout.segments)
    for (const Field& field : segment.fields)
      if (field.present()) KB_TRY(check_bounds(tensors[static_cast<size_t>(field.tensor)]));
  return {};
}

/// Checks the family against the values. For a family that was set a mismatch is only a warning,
/// and so are single centres far outside of the picture for a family that the producer names.
Status confirm(Plan& plan, std::span<const TensorView> tensors, const Request& request) {
  const Status agrees = check_values(plan.layout, tensors);
  if (agrees) return {};
  Error error = agrees.error();
  const bool named = plan.basis == Basis::kNamed &&
                     (plan.spec->name == request.declared || spec_by_ids(tensors) != nullptr);
  const bool far = named && check_values(plan.layout, tensors, false);
  if (plan.basis == Basis::kSet || far) {
    if (far)
      error.hint =
          "compare the boxes with the picture: if they are wrong, check the model input: channel "
          "order and value range (input-std= of tensorinfer)";
    plan.warnings.push_back(std::move(error));
    return {};
  }
  const Candidates others =
      candidates_of(tensors[static_cast<size_t>(plan.layout[FieldId::kBox].tensor)], request);
  if (!others.families.empty()) error.found += ", which fits " + others.families;
  error.hint += others.inputs;
  return std::unexpected(std::move(error));
}

float iou_threshold_of(const Plan& plan, const Settings& settings) {
  if (settings.iou_threshold) return *settings.iou_threshold;
  if (plan.spec->iou_threshold > 0) return plan.spec->iou_threshold;
  return settings.declared_iou_threshold > 0 ? settings.declared_iou_threshold : kIouThreshold;
}

/// Returns the picture whose grid the anchors may be: the model input if it is known or set.
Size picture_of(const Settings& settings) {
  if (settings.letterbox) return settings.letterbox->model;
  if (settings.model_size.width != 0 && settings.model_size.height != 0) return settings.model_size;
  return settings.frame.size;
}

bool is_empty(Size size) { return size.width == 0 || size.height == 0; }

/// Returns the model input: as declared, as set, the frame if its grid fits, the size that feature
/// maps imply, or the usual one with that grid.
Result<Size> settle_model(const Settings& settings, const Layout& layout) {
  const Size given = picture_of(settings);
  const bool known = !is_empty(given);
  if (known && (settings.letterbox || given == settings.model_size)) return given;
  const uint32_t anchors = grid_anchors(given, *layout.spec, layout.levels);
  if (known && (anchors == layout.anchors || anchors == 0)) return given;
  if (const Size shown = input_of_maps(layout); !is_empty(shown)) return shown;
  if (const Size usual = usual_input(layout.anchors, *layout.spec); !is_empty(usual)) return usual;
  if (known) return given;
  return reject(ErrorKind::kInvalid,
                "Neither the size of the frame nor that of the model input is known, and the "
                "tensors do not imply it",
                "fix the caps upstream, or set model-size=");
}

/// Returns the picture that boxes refer to: without a size, the picture that the model received.
Picture settle_frame(const Settings& settings, Size model) {
  if (!is_empty(settings.frame.size)) return settings.frame;
  return {.size = settings.letterbox ? settings.letterbox->frame : model};
}

void settle_rules(Plan& plan) {
  const DetectorSpec& spec = *plan.spec;
  plan.rules.anchors = plan.layout.anchors;
  plan.rules.classes = plan.layout.classes;
  plan.rules.indexed = plan.layout.indexed;
  plan.rules.scores = {spec.score, spec.activation, spec.logit_limit};
  if (spec.score == ScoreRule::kObjectness && foreground_classes(plan.layout) > 1)
    plan.rules.scores.rule = ScoreRule::kProduct;
  plan.rules.peaks = spec.peaks;
  BoxRules& boxes = plan.rules.boxes;
  boxes.coding = spec.coding;
  boxes.yx = spec.box_yx;
  boxes.bins = spec.bins;
  boxes.cell_offset = spec.cell_offset;
  boxes.delta_limit = spec.delta_limit;
  std::ranges::copy(spec.box_scale, boxes.scale);
}

/// Settles the anchors. The error for a wrong number of anchors names the families that fit.
Status fit_anchors(Plan& plan, const Settings& settings, std::span<const TensorView> tensors,
                   const Request& request, Size model) {
  const bool known = settings.letterbox.has_value();
  Status settled = settle_anchors(plan, settings, model, known);
  if (settled || settled.error().kind != ErrorKind::kMismatch) return settled;
  Error error = settled.error();
  suggest_others(error, plan, tensors, request, known ? model : Size{});
  return std::unexpected(std::move(error));
}

/// Keeps only the tensors that a field reads, and renumbers them.
void settle_reads(Plan& plan, std::span<const TensorView> tensors) {
  std::vector<Field*> fields;
  for (Segment& segment : plan.layout.segments)
    for (size_t id = 0; id < kFieldCount; ++id) fields.push_back(&segment.fields[id]);
  const std::vector<Field> before = [&] {
    std::vector<Field> out;
    for (const Field* field : fields) out.push_back(*field);
    return out;
  }();
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    bool read = false;
    for (size_t f = 0; f < fields.size(); ++f) {
      if (before[f].tensor != static_cast<int>(i)) continue;
      fields[f]->tensor = static_cast<int>(plan.reads.size());
      read = true;
    }
    if (!read) continue;
    plan.reads.push_back(i);
    const TensorView& view = tensors[i];
    plan.forms.push_back(
        {std::string(view.id), view.type, view.shape, view.scale, view.zero_point});
  }
}

/// Chooses the contract: set, the family's, the producer's, or exact. @pre the rules know whether
/// boxes are oriented.
Status choose_contract(Plan& plan, const Settings& settings) {
  std::string_view name = settings.nms_contract;
  if (name == "auto")
    name = !plan.spec->contract.empty()          ? plan.spec->contract
           : !settings.declared_contract.empty() ? std::string_view(settings.declared_contract)
                                                 : "exact";
  const NmsContract* contract = find_contract(name);
  if (contract == nullptr)
    return reject(ErrorKind::kInvalid, "nms-contract=" + settings.nms_contract + " is unknown",
                  "set nms-contract= to a contract that gst-inspect-1.0 boxdecode lists");
  plan.rules.contract = settle_contract(*contract, settings, plan.rules.oriented);
  plan.rules.nms_sigma = settings.nms_sigma != 0 ? settings.nms_sigma : plan.spec->nms_sigma;
  plan.rules.iou_threshold = normal(iou_threshold_of(plan, settings));
  return {};
}

Request request_of(const Settings& settings) {
  return {.detector = settings.detector,
          .family = settings.family.get(),
          .declared = settings.declared_detector,
          .tensor_ids = settings.tensor_ids,
          .label_count = settings.label_count,
          .num_classes = settings.num_classes,
          .has_priors = !settings.priors.empty(),
          .dynamic_rows = settings.dynamic_rows,
          .frame = picture_of(settings)};
}

}  // namespace

bool Plan::holds_for(std::span<const TensorView> tensors) const {
  if (provisional) return false;
  for (size_t i = 0; i < forms.size(); ++i) {
    if (reads[i] >= tensors.size()) return false;
    const TensorView& view = tensors[reads[i]];
    const TensorForm& form = forms[i];
    if (form.id != view.id || form.type != view.type || form.shape != view.shape ||
        form.scale != view.scale || form.zero_point != view.zero_point)
      return false;
  }
  return true;
}

Result<Plan> make_plan(const Settings& settings, std::span<const TensorView> tensors) {
  KB_TRY(check_settings(settings));
  const Request request = request_of(settings);
  KB_ASSIGN(auto recognition, recognise(tensors, request));
  Plan plan{.spec = recognition.layout.spec,
            .family = settings.family,
            .layout = recognition.layout,
            .basis = recognition.basis,
            .remark = std::move(recognition.remark)};
  if (recognition.warning) plan.warnings.push_back(*std::move(recognition.warning));
  if (auto unread = unread_tensors(plan.layout, settings, tensors, plan.basis == Basis::kSet))
    plan.warnings.push_back(*std::move(unread));
  plan.rules.oriented = plan.layout[FieldId::kAngle].present();
  KB_TRY(choose_contract(plan, settings));
  KB_TRY(check_tensors(plan.layout, tensors));

  KB_ASSIGN(const auto model, settle_model(settings, plan.layout));
  const size_t before = plan.warnings.size();
  settle_units(plan, settings, recognition.box_coding_unknown, tensors, model);
  plan.provisional |= recognition.blank;
  for (Error& warning : std::span(plan.warnings).subspan(before))
    suggest_others(warning, plan, tensors, request, {});
  KB_TRY(confirm(plan, tensors, request));
  settle_rules(plan);
  KB_TRY(fit_anchors(plan, settings, tensors, request, model));
  settle_classes(plan, settings);
  KB_TRY(settle_labels(plan, settings));
  settle_limits(plan, settings);
  const Picture frame = settle_frame(settings, model);
  plan.letterbox = settings.letterbox
                       ? scaled_to(*settings.letterbox, frame.size)
                       : make_letterbox(frame, {.size = model}, settings.resize_mode);
  KB_TRY(settle_tiles(plan, settings, frame.size));
  std::ranges::move(lint_settings(plan, settings), std::back_inserter(plan.warnings));
  settle_payload(plan, settings, tensors);
  settle_reads(plan, tensors);
  note_declared(plan, settings);
  return plan;
}

Result<Plan> plan_suppression(const Settings& settings, bool oriented) {
  static constexpr DetectorSpec kNoFamily{};
  KB_TRY(check_suppression(settings));
  const float lowest = settings.score_threshold.value_or(0);
  if (std::isnan(lowest) || lowest == std::numeric_limits<float>::infinity())
    return bad("score-threshold", lowest, "a finite number");
  Plan plan{.spec = &kNoFamily};
  plan.layout.spec = &kNoFamily;
  plan.rules.oriented = oriented;
  plan.rules.boxes.coding = oriented ? BoxCoding::kCenterSize : BoxCoding::kCorners;
  KB_TRY(choose_contract(plan, settings));
  settle_classes(plan, settings);
  return plan;
}

void fit_to(Plan& plan, const Settings& settings, uint32_t boxes) {
  plan.layout.anchors = plan.rules.anchors = plan.rules.candidates = boxes;
  settle_limits(plan, settings);
}

void refit(Plan& plan, const Letterbox& letterbox, std::span<const Tile> tiles, Size frame) {
  plan.letterbox = scaled_to(letterbox, frame);
  for (size_t i = 0; i < plan.tiles.size(); ++i) plan.tiles[i] = scaled_to(tiles[i], frame);
}

Status retune(Plan& plan, const Settings& settings) {
  KB_TRY(check_settings(settings));
  const uint64_t candidates = candidates_of(plan, class_filter(plan.layout, settings));
  if (candidates > plan.rules.candidates)
    return reject(ErrorKind::kInvalid,
                  "Too many candidates for this plan: " + labels_text(plan, candidates),
                  "create a new plan");
  plan.rules.iou_threshold = normal(iou_threshold_of(plan, settings));
  if (!plan.tiles.empty()) KB_TRY(settle_tile_rules(plan, settings));
  settle_reach(plan.rules);
  settle_classes(plan, settings);
  plan.warnings = lint_settings(plan, settings);
  return {};
}

namespace {

/// Returns a plan without what differs among plans that make the same boxes: where boxes go, which
/// file describes the family, and how it was recognised. A new member counts unless it is here.
Plan comparable(Plan plan) {
  plan.spec = plan.layout.spec = nullptr;
  plan.family.reset();
  plan.layout.levels = 0;
  plan.layout.grids.clear();
  plan.layout.ignored.clear();
  plan.letterbox = {.frame = {}, .model = plan.letterbox.model};
  plan.maps.clear();
  plan.tiles.clear();
  plan.tile_rules = {};
  plan.tile_detections = plan.tile_class_limit = 0;
  plan.part_regions.clear();
  plan.part_rules = {};
  plan.reads.clear();
  plan.units = Units::kPixels;
  plan.provisional = plan.has_ceiling = false;
  plan.basis = Basis::kNamed;
  plan.remark.clear();
  plan.warnings.clear();
  return plan;
}

}  // namespace

bool can_join(const Plan& plan) {
  const Layout& layout = plan.layout;
  return layout.images == 1 && plan.tiles.empty() && !plan.is_joint() &&
         !layout[FieldId::kImage].present() && !layout[FieldId::kIndices].present();
}

Plan joint_plan(Plan plan, uint32_t frames) {
  plan.layout.images = frames;
  plan.maps.assign(frames, plan.letterbox);
  for (Segment& segment : plan.layout.segments)
    for (Field& field : segment.fields) field.image_stride = 0;  // each frame has its own tensors
  return plan;
}

bool are_alike(const Plan& a, const Plan& b) { return comparable(a) == comparable(b); }

bool are_adjacent(std::span<const TensorView> tensors, std::span<const TensorView> next) {
  return std::ranges::equal(tensors, next, [](const TensorView& a, const TensorView& b) {
    const auto count = a.shape.count();
    return count && static_cast<const std::byte*>(a.data) + *count * size_of(a.type) == b.data;
  });
}

void suggest_others(Error& error, const Plan& plan, std::span<const TensorView> tensors,
                    const Request& request, Size input) {
  const std::string others = other_families(plan.layout, tensors, request, input);
  if (others.empty() && !error.hint.empty()) return;
  error.hint += error.hint.empty() ? "set" : ", or";
  error.hint += " detector= to ";
  error.hint += others.empty()         ? "a file that describes the model's family"
                : others.contains(',') ? "one of " + others
                                       : others;
}

void note_declared(Plan& plan, const Settings& settings) {
  const bool contract = settings.nms_contract == "auto" && plan.spec->contract.empty() &&
                        !settings.declared_contract.empty();
  const bool iou = !settings.iou_threshold && settings.declared_iou_threshold > 0 &&
                   !(plan.spec->iou_threshold > 0) && plan.spec->nms != NmsMethod::kNone;
  if (contract) plan.remark += "; nms-contract=" + settings.declared_contract;
  if (iou)
    plan.remark += std::string(contract ? " and" : ";") +
                   std::format(" iou-threshold={}", settings.declared_iou_threshold);
  if (contract || iou) plan.remark += " as declared by the model";
}

Status settle_tile_rules(Plan& plan, const Settings& settings) {
  if (settings.tile_rules.united && plan.rules.oriented)
    return reject(ErrorKind::kInvalid, "tile-merge= cannot extend oriented boxes to their union",
                  "set it to ios or iou");
  plan.tile_rules = settings.tile_rules;
  return {};
}

Status settle_tiles(Plan& plan, const Settings& settings, Size frame) {
  if (settings.tiles.empty()) return {};
  if (settings.tiles.size() != plan.layout.images)
    return reject(
        ErrorKind::kMismatch,
        std::format("The frame has {}, but the tensors are of {}",
                    counted(settings.tiles.size(), "tile"), counted(plan.layout.images, "image")),
        "export the model with outputs per picture, or leave tiles= of "
        "tensorinfer unset");
  for (const Tile& each : settings.tiles) plan.tiles.push_back(scaled_to(each, frame));
  KB_TRY(settle_tile_rules(plan, settings));
  const bool per_class = plan.rules.contract.per_class_limit;
  constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();
  plan.tile_detections = per_class ? kNoLimit : settings.max_detections;
  plan.tile_class_limit = per_class ? settings.max_detections : kNoLimit;
  if (settings.class_top_k != 0)
    plan.tile_class_limit = std::min(plan.tile_class_limit, settings.class_top_k);
  return {};
}

namespace {

/// Observations on all boxes of the first image.
struct CoordinateRange {
  float largest = 0;      // of |coordinate|
  bool readable = false;  // in system memory
};

/// @param threshold of scores, for rows of which only those of objects count.
CoordinateRange coordinate_range(const Layout& layout, std::span<const TensorView> tensors,
                                 float threshold) {
  const auto box = box_ranges(layout, tensors, threshold);
  CoordinateRange out{.readable = !box.empty()};
  for (const Range& range : box) out.largest = std::max({out.largest, -range.min, range.max});
  return out;
}

}  // namespace

void settle_units(Plan& plan, const Settings& settings, bool box_coding_unknown,
                  std::span<const TensorView> tensors, Size model) {
  if (has_cells(plan.spec->coding)) {
    plan.provisional = box_coding_unknown;
    return;
  }
  const float score = settings.score_threshold.value_or(kScoreThreshold);
  const float threshold = std::min(score, settings.track_score_threshold.value_or(score));
  const CoordinateRange seen = coordinate_range(plan.layout, tensors, threshold);
  Units units = settings.units != Units::kAuto ? settings.units : plan.spec->units;
  if (units == Units::kAuto) {
    plan.provisional = !seen.readable || seen.largest == 0;
    units =
        !plan.provisional && seen.largest <= kMaxNormalized ? Units::kNormalized : Units::kPixels;
    if (!plan.provisional)
      plan.remark +=
          units == Units::kNormalized ? "; coordinates are in 0..1" : "; coordinates are in pixels";
  }
  plan.units = units;
  if (units == Units::kNormalized) {
    plan.rules.boxes.unit_x = static_cast<float>(model.width);
    plan.rules.boxes.unit_y = static_cast<float>(model.height);
    if (!traits_of(plan.spec->coding).priors && seen.largest > kMaxNormalized)
      plan.warnings.push_back(problem(ErrorKind::kMismatch,
                                      "The coordinates are not in 0..1: there are larger values",
                                      "set box-units=pixels in a detector file"));
  }
}

}  // namespace keepbox
