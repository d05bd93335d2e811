// SPDX-License-Identifier: LGPL-2.1-or-later
// Families that fit by the shapes of tensors, the most probable first.
#include "core/recognition/shapes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/base/text.h"
#include "core/recognition/fit.h"
#include "core/recognition/maps.h"
#include "core/recognition/value_checks.h"
#include "core/recognition/value_patterns.h"

namespace keepbox {
namespace {

constexpr size_t kMinReadyColumns = 6;
constexpr size_t kMaxFound = 1000;  // end-to-end rows of a picture

/// Returns the number of classes set by the caller or the labels, or 0.
size_t known_classes(const Request& request) {
  return request.num_classes != 0 ? request.num_classes : request.label_count;
}

std::string why_classes(size_t classes, const Request& request) {
  if (classes == request.num_classes) return counted(classes, "class") + " as set";
  if (classes == request.label_count) return counted(classes, "label");
  return counted(classes, "class") + ", as in COCO";
}

bool allows(TableForm forms, bool rows) {
  return forms == TableForm::kAny || forms == (rows ? TableForm::kRows : TableForm::kPlanes);
}

/// Returns the channels of the published models, or 0.
size_t published_channels(const DetectorSpec& spec) {
  const bool dense = spec.reader == Reader::kDense && spec.shape.classes != 0;
  return dense ? channels_besides_classes(spec) + spec.shape.classes + spec.payload_count : 0;
}

/// Returns how well that many anchors agree with the cells of an input, as in FamilyCandidate. A
/// square is weaker for one anchor per cell, because more numbers match one. A dynamic number that
/// may be the number of objects found is not evidence.
uint8_t cells_of(const DetectorSpec& spec, size_t anchors, const Request& request) {
  if (anchors < kMinGrid || spec.level_count() == 0) return 0;
  if (request.dynamic_rows && anchors <= kMaxFound) return 0;
  if (is_grid(anchors, request.frame, spec)) return 2;
  if (request.dynamic_rows || usual_input(narrow(anchors), spec).width == 0) return 0;
  return spec.anchors_of(0) > 1 ? 2 : 1;
}

/// Compares one tensor with the hints of families.
class Ranking {
 public:
  Ranking(std::span<const TensorView> tensors, size_t index, const Batched& dims,
          const Request& request)
      : tensor_(tensors[index]),
        a_(dims.dims[0]),
        b_(dims.dims[1]),
        maps_(prototype_count(tensors)),
        request_(request) {
    const auto listed_grid = [&](const DetectorSpec& spec) {
      return spec.shape.listed && cells_of(spec, std::max(a_, b_), request) != 0;
    };
    grid_ = std::ranges::any_of(detectors(), listed_grid);
    const bool rows = a_ >= b_ || (b_ == kMinReadyColumns && a_ < kMinGrid);
    pattern_ = rows ? pattern_of(tensor_, a_, b_) : pattern_of_planes(tensor_, a_, b_);
    // Sigmoids of anchors in 0..1 are as those of queries, which are no grid.
    raw_ = pattern_ == ValuePattern::kQueries && !grid_ && is_pyramid(a_, request.frame);
    if (raw_) pattern_ = ValuePattern::kNone;
  }

  std::optional<FamilyCandidate> of(const DetectorSpec& spec) const {
    const ShapeHint& hint = spec.shape;
    const bool ready = spec.reader == Reader::kReady, rows = ready || a_ >= b_;
    const size_t channels = rows ? b_ : a_;
    const bool exact = ready && channels == min_channels(spec);
    FamilyCandidate out{.spec = &spec, .cells = cells_of(spec, rows ? a_ : b_, request_)};
    if (by_rank(hint, exact, out)) return out;
    if (is_plane(tensor_.shape)) return std::nullopt;
    if (by_prototypes(hint, channels, out) || by_pattern(hint, out)) return out;
    if (exact && by_image_rows(spec, out)) return out;
    if (!hint.listed || (ready && !exact)) return std::nullopt;
    if (ready) by_rows(hint, out);
    else if (channels >= min_channels(spec)) by_table(spec, rows, channels, out);
    return raw_ && !ready && out.classes == 0 ? std::nullopt : std::optional(out);
  }

 private:
  static bool decide(ShapeEvidence evidence, std::string why, FamilyCandidate& out) {
    out = {.spec = out.spec, .evidence = evidence, .decisive = true, .why = std::move(why)};
    return true;
  }

  bool by_rank(const ShapeHint& hint, bool exact, FamilyCandidate& out) const {
    if (hint.rank == 0 || tensor_.shape.rank() != hint.rank || !exact) return false;
    return decide(ShapeEvidence::kRank, "rows of seven values in four dimensions", out);
  }

  /// Requires a grid too, because other models have prototypes as well.
  bool by_prototypes(const ShapeHint& hint, size_t channels, FamilyCandidate& out) const {
    if (!hint.prototypes || maps_ == 0 || out.cells == 0 || channels < kMinChannels + maps_)
      return false;
    return decide(ShapeEvidence::kPrototypes, "with prototypes", out);
  }

  bool by_pattern(const ShapeHint& hint, FamilyCandidate& out) const {
    const bool allowed = hint.cells == Cells::kAny || (hint.cells == Cells::kGrid) == grid_;
    if (pattern_ == ValuePattern::kNone || hint.pattern != pattern_ || !allowed) return false;
    return decide(ShapeEvidence::kPattern, std::string(pattern_text(pattern_)), out);
  }

  bool by_image_rows(const DetectorSpec& spec, FamilyCandidate& out) const {
    if (spec.shape.pattern != ValuePattern::kImageRows ||
        !are_image_rows(tensor_, a_, b_, spec.columns))
      return false;
    return decide(ShapeEvidence::kPattern, std::string(pattern_text(spec.shape.pattern)), out);
  }

  /// Rates the number of end-to-end rows.
  void by_rows(const ShapeHint& hint, FamilyCandidate& out) const {
    if (a_ > hint.max_rows || grid_) return;
    decide(ShapeEvidence::kShape, "six columns and few rows", out);
    out.cells = 1;
  }

  /// Rates the numbers of anchors and classes.
  void by_table(const DetectorSpec& spec, bool rows, size_t channels, FamilyCandidate& out) const {
    const ShapeHint& hint = spec.shape;
    const bool by_classes = allows(hint.by_classes, rows), by_grid = allows(hint.by_grid, rows);
    if (!(by_classes || by_grid) || (hint.cells == Cells::kGrid && out.cells == 0)) return;
    out.evidence = ShapeEvidence::kShape;
    const size_t classes = channels - channels_besides_classes(spec),
                 known = known_classes(request_);
    // Planes with another number than the known one may have a payload.
    if (by_classes && classes == known) out.classes = 2;
    else if (by_classes && classes == hint.classes && (rows || known == 0)) out.classes = 1;
    const bool grid = by_grid && out.cells != 0 && (rows || !published_elsewhere(spec, channels));
    out.decisive = grid || out.classes != 0;
    if (grid && rows) out.why = counted(spec.anchors_of(0), "anchor") + " per cell";
    else if (out.classes != 0) out.why = why_classes(classes, request_);
    else if (grid) out.why = "channels before the anchors of a grid";
  }

  /// True if the published models of another family have that many channels.
  static bool published_elsewhere(const DetectorSpec& spec, size_t channels) {
    return std::ranges::any_of(detectors(), [&](const DetectorSpec& other) {
      return &other != &spec && published_channels(other) == channels;
    });
  }

  const TensorView& tensor_;
  size_t a_, b_;
  size_t maps_;  // prototypes in another tensor
  const Request& request_;
  bool grid_ = false;  // the anchors are those of a grid of some family
  bool raw_ = false;   // values before their decoding
  ValuePattern pattern_ = ValuePattern::kNone;
};

/// Fits a family to a tensor as if it were the only one, unless its values contradict the family.
std::optional<Layout> fit_values(const DetectorSpec& spec, const TensorView& tensor,
                                 const Request& request) {
  const std::span<const TensorView> one(&tensor, 1);
  auto layout = fit_at(spec, one, 0, request);
  if (!layout || (check_bounds(tensor) && !check_values(*layout, one))) return std::nullopt;
  return *std::move(layout);
}

/// Fits class scores and a payload, with the classes of the request or of the published models.
std::optional<Layout> fit_payload(const DetectorSpec& spec, const TensorView& tensor,
                                  const Request& request) {
  const bool points = spec.payload == Payload::kKeypoints;
  Request own{.label_count = request.label_count, .frame = request.frame};
  if (points)
    own.num_classes = std::max(
        {request.num_classes, request.label_count, static_cast<uint32_t>(spec.shape.classes)});
  else if (spec.payload != Payload::kAngle) own.num_classes = request.num_classes;
  auto layout = fit_values(spec, tensor, own);
  if (!layout || !likely_payload(*layout, {&tensor, 1})) return std::nullopt;
  return layout;
}

/// True if class scores without a payload fit after the same columns.
bool scores_fit(const DetectorSpec& spec, const TensorView& tensor, const Request& request) {
  return std::ranges::any_of(detectors(), [&](const DetectorSpec& other) {
    return other.shape.listed && other.reader == spec.reader && other.payload == Payload::kNone &&
           channels_besides_classes(other) == channels_besides_classes(spec) &&
           fit_values(other, tensor, {.frame = request.frame});
  });
}

/// Fits a candidate to its tensor. A payload is a candidate if the values cannot all be scores, or
/// if the published models have as many channels.
std::optional<Layout> fit_candidate(const FamilyCandidate& candidate, const TensorView& tensor,
                                    const Request& request) {
  const DetectorSpec& spec = *candidate.spec;
  if (spec.payload == Payload::kNone) {
    const Request plain{.frame = request.frame};
    auto layout = fit_values(spec, tensor, plain);
    const bool twin = !layout && !spec.decoded_twin.empty() && candidate.cells != 0;
    return twin ? fit_values(*find_detector(spec.decoded_twin), tensor, plain) : layout;
  }
  auto layout = fit_payload(spec, tensor, request);
  if (!layout) return std::nullopt;
  const size_t channels = channels_besides_classes(spec) + layout->classes + layout->payload_count;
  const bool likely = channels == published_channels(spec) || !scores_fit(spec, tensor, request);
  return likely ? layout : std::nullopt;
}

/// Fits families of end-to-end rows with a payload, which their boxes, scores, class numbers and
/// payload suggest.
std::vector<Layout> fitting_rows(const TensorView& tensor, const Request& request) {
  std::vector<Layout> out;
  const auto dims = batched(tensor.shape, 2);
  if (!dims || dims->dims[0] > kMaxFound) return out;
  for (const DetectorSpec& spec : detectors()) {
    if (spec.reader != Reader::kReady || spec.payload == Payload::kNone || spec.tensor_count != 1)
      continue;
    if (!may_have_row_payload(tensor, dims->dims[0], dims->dims[1], spec.payload)) continue;
    if (auto layout = fit_values(spec, tensor, request)) out.push_back(*std::move(layout));
  }
  return out;
}

/// Describes a layout, with the required num-classes= for a payload unlike the published models'.
std::string with_setting(const Layout& layout, const Request& request) {
  const bool known = layout.classes == 0 || layout.payload_count == 0 ||
                     layout.payload_count == layout.spec->payload_count ||
                     request.label_count == layout.classes || request.num_classes == layout.classes;
  return family_text(layout) + (known ? "" : " with num-classes=" + std::to_string(layout.classes));
}

std::string layouts_text(std::span<const Layout> layouts, const Request& request) {
  std::string text;
  for (const Layout& each : layouts) append(text, with_setting(each, request));
  return text;
}

std::unexpected<Error> unknown(std::span<const TensorView> tensors, const std::string& other) {
  const auto unscaled = [](const TensorView& tensor) {
    return !is_real(tensor) && tensor.shape.rank() > 1;
  };
  const std::string scale =
      std::ranges::any_of(tensors, unscaled)
          ? "set quantization= to the scale and zero point of the integers, or "
          : "set ";
  return fail(ErrorKind::kMismatch, "the tensors of a known detector",
              to_string(tensors) + (other.empty() ? "" : ", probably the output of " + other),
              other.empty() ? scale +
                                  "detector= to the model's family or a file that describes it, "
                                  "and tensor-ids= to its tensors"
                            : "use an object detection model for boxes, classdecode for classes or "
                              "text, or remove boxdecode to pass the tensors on unchanged");
}

}  // namespace

std::vector<FamilyCandidate> rank_families(std::span<const TensorView> tensors, size_t index,
                                           const Request& request) {
  const TensorView& tensor = tensors[index];
  const auto dims = batched(tensor.shape, 2);
  if (!dims || !is_real(tensor) || is_maps(tensor.shape)) return {};
  const Ranking ranking(tensors, index, *dims, request);
  std::vector<FamilyCandidate> out;
  for (const DetectorSpec& spec : detectors())
    if (auto each = ranking.of(spec)) out.push_back(*std::move(each));
  std::ranges::stable_sort(out, std::greater(), &FamilyCandidate::rank);
  return out;
}

std::vector<Layout> fitting_layouts(const TensorView& tensor, const Request& request) {
  std::vector<Layout> out;
  const auto dims = batched(tensor.shape, 2);
  if (!dims) return out;
  const bool small = std::min(dims->dims[0], dims->dims[1]) < kMinChannels;
  for (const FamilyCandidate& each : rank_families({&tensor, 1}, 0, request))
    if (small && each.evidence < ShapeEvidence::kPattern) continue;
    else if (auto layout = fit_candidate(each, tensor, request)) out.push_back(*std::move(layout));
  return out;
}

const FamilyCandidate* decided(std::span<const FamilyCandidate> ranked) {
  if (ranked.empty() || !ranked[0].decisive) return nullptr;
  return ranked.size() == 1 || ranked[1].rank() < ranked[0].rank() ? &ranked[0] : nullptr;
}

Candidates candidates_of(const TensorView& tensor, const Request& request) {
  const std::vector<Layout> layouts = fitting_layouts(tensor, request);
  return {layouts_text(layouts, request), input_hint(layouts)};
}

std::unexpected<Error> undecided(std::span<const TensorView> tensors, const Request& request) {
  const std::string other = other_task(tensors);
  if (tensors.size() != 1 || !other.empty()) return unknown(tensors, other);
  std::vector<Layout> likely = fitting_rows(tensors[0], request);
  std::ranges::move(fitting_layouts(tensors[0], request), std::back_inserter(likely));
  if (likely.empty()) return unknown(tensors, other);
  std::string hint = likely.size() > 1 ? "set detector= to one of them"
                                       : "set detector=" + std::string(likely[0].spec->name) +
                                             " if the model is of that family";
  if (likely.size() > 1 && known_classes(request) == 0)
    hint += ", or label-file= or num-classes= so that the number of classes decides";
  hint += input_hint(likely);
  return fail(ErrorKind::kAmbiguous, "a tensor whose id or shape identifies its family",
              to_string(tensors) + ", which fits " + layouts_text(likely, request),
              std::move(hint));
}

namespace {

constexpr uint32_t kCocoIds = 91;

/// True if the family's number of anchors depends on the input.
bool has_grid_anchors(const DetectorSpec& spec) {
  return has_cells(spec.coding) || spec.anchors.given();
}

/// True if some input has that number of cells.
bool has_input(const Layout& layout, const Request& request) {
  const DetectorSpec& spec = *layout.spec;
  if (!has_grid_anchors(spec) || (spec.priors && request.has_priors)) return true;
  if (input_of_maps(layout).width != 0) return true;
  if (grid_anchors(request.frame, spec, layout.levels) == layout.anchors) return true;
  return !request.dynamic_rows && usual_input(layout.anchors, spec).width != 0;
}

/// True for the known number of classes, or a common one.
bool likely_classes(const Layout& layout, const Request& request) {
  const DetectorSpec& spec = *layout.spec;
  for (const TensorRule& rule : spec.rules())
    if (rule.role == Role::kScores && rule.channels != 0) return true;
  const uint32_t classes = layout.classes - spec.background_count();
  const uint32_t known = request.num_classes != 0 ? request.num_classes : request.label_count;
  return known != 0 ? classes == known
                    : classes == kCocoClasses || classes == kCocoIds || classes == kCocoIds - 1;
}

/// True unless all logits are in 0..1, as probabilities are, or the logits of queries look like
/// those of a softmax although the family has sigmoids, or vice versa.
bool likely_scores(const Layout& layout, std::span<const TensorView> tensors) {
  const DetectorSpec& spec = *layout.spec;
  if (spec.activation == Activation::kNone || !in_bounds(layout, tensors)) return true;
  const auto seen = ranges(layout, FieldId::kScores, layout.classes, tensors);
  if (seen.empty()) return true;
  if (spec.reader == Reader::kSplit && spec.nms == NmsMethod::kNone && !spec.peaks)
    if (const auto softmax = looks_softmaxed(layout, tensors))
      return *softmax == (spec.activation == Activation::kSoftmax);
  return !std::ranges::all_of(seen, looks_like_probabilities);
}

struct Fit {
  Layout layout;
  size_t used;
  bool classes, scores;  // plausible
  bool sized;            // the picture has that number of anchors

  auto rank() const {
    const DetectorSpec& spec = *layout.spec;
    return std::tuple(has_grid_anchors(spec), scores, classes, used, sized,
                      layout.levels == spec.level_count(), spec.usual_classes != 0);
  }
};

/// True if the family's scores, in a tensor of their own, may have the arrangement of its models.
bool scores_arranged(const Layout& layout, std::span<const TensorView> tensors) {
  const TableForm wanted = layout.spec->shape.scores;
  if (wanted == TableForm::kAny) return true;
  const Field& scores = layout[FieldId::kScores];
  const bool list = layout.classes == 1 && tensors[size_t(scores.tensor)].shape.rank() < 3;
  return list || wanted == (scores.channel_stride == 1 ? TableForm::kRows : TableForm::kPlanes);
}

/// True unless a family with a background has scores that do not add up to 1, as after a softmax.
/// Families in files may have others.
bool has_background(const Layout& layout, std::span<const TensorView> tensors) {
  const DetectorSpec& spec = *layout.spec;
  return spec.background == Background::kNone || spec.activation != Activation::kNone ||
         may_add_to_one(layout, tensors);
}

/// Returns the family's fit, unless the values contradict it.
std::optional<Fit> fit_of(const DetectorSpec& spec, std::span<const TensorView> tensors,
                          const Request& request) {
  auto layout = fit(spec, tensors, request);
  if (layout && spec.usual_classes != 0 && spec.usual_classes != layout->classes)
    return std::nullopt;
  if (!layout || !scores_arranged(*layout, tensors) || !misfits(*layout, tensors).empty() ||
      !has_background(*layout, tensors) ||
      (in_bounds(*layout, tensors) && !check_values(*layout, tensors)))
    return std::nullopt;
  const size_t used = read_tensors(*layout).size();
  const bool classes = likely_classes(*layout, request), scores = likely_scores(*layout, tensors);
  const bool sized = grid_anchors(request.frame, spec, layout->levels) == layout->anchors;
  return Fit{*std::move(layout), used, classes, scores, sized};
}

std::vector<Fit> fits(std::span<const TensorView> tensors, const Request& request) {
  std::vector<Fit> out;
  for (const DetectorSpec& spec : detectors()) {
    if (!spec.by_shape || (spec.reader != Reader::kSplit && spec.level_count() < 2)) continue;
    auto found = fit_of(spec, tensors, request);
    const bool single = spec.reader != Reader::kSplit && found && found->layout.grids.empty();
    if (found && !single && has_input(found->layout, request) &&
        unread_parts(found->layout, tensors).empty())
      out.push_back(*std::move(found));
  }
  return out;
}

std::string why(const Fit& fit) {
  std::string text = counted(fit.used, "tensor");
  if (fit.layout.grids.size() > 1) text += " of " + counted(fit.layout.levels, "level");
  return text;
}

/// True if two families differ in nothing but the grids of their inputs.
bool are_twins(const DetectorSpec& a, const DetectorSpec& b) {
  return has_grid_anchors(a) && a.reader == b.reader && a.coding == b.coding &&
         a.score == b.score && a.activation == b.activation && a.payload == b.payload &&
         a.payload_count == b.payload_count && a.points.set == b.points.set &&
         a.strides != b.strides;
}

/// Returns "blazeface of 128x128".
std::string sized_text(const Fit& fit) {
  const Size size = usual_input(fit.layout.anchors, *fit.layout.spec);
  return std::string(fit.layout.spec->name) + " of " + std::to_string(size.width) + "x" +
         std::to_string(size.height);
}

/// Chooses the first of two similar families, with a warning.
ShapeMatch first_of_twins(std::vector<Fit> found, std::span<const TensorView> tensors) {
  std::string names;
  for (const Fit& fit : found) append(names, sized_text(fit));
  Error warning = problem(
      ErrorKind::kAmbiguous,
      "The tensors " + to_string(tensors) + " fit several families; the first is used: " + names,
      "set detector=, or model-size= to that of the model's input");
  std::string reason = why(found[0]);
  return {std::move(found[0].layout), std::move(reason), std::move(warning)};
}

/// Drops twins for whose input the cells around an object disagree, if those of another agree.
void keep_agreeing(std::vector<Fit>& found, std::span<const TensorView> tensors) {
  constexpr float kClearly = 2;
  const auto twin = [&](const Fit& fit) {
    return &fit == &found[0] || are_twins(*found[0].layout.spec, *fit.layout.spec);
  };
  if (found.size() < 2 || !std::ranges::all_of(found, twin)) return;
  std::vector<float> spreads;
  for (const Fit& fit : found) {
    const Size input = usual_input(fit.layout.anchors, *fit.layout.spec);
    const auto spread = spread_of(fit.layout, tensors, input);
    if (!spread) return;
    spreads.push_back(*spread);
  }
  const float limit = kClearly * std::ranges::min(spreads);
  size_t at = 0;
  std::erase_if(found, [&](const Fit&) { return spreads[at++] > limit; });
}

/// Returns the best fit, or an error if there are several of that rank.
Result<std::optional<ShapeMatch>> best_of(std::vector<Fit> found,
                                          std::span<const TensorView> tensors) {
  keep_agreeing(found, tensors);
  if (found.empty()) return std::nullopt;
  const auto best = std::ranges::max(found, {}, &Fit::rank).rank();
  std::erase_if(found, [&](const Fit& fit) { return fit.rank() != best; });
  if (found.size() == 1) {
    std::string reason = why(found[0]);
    return ShapeMatch{std::move(found[0].layout), std::move(reason), {}};
  }
  const auto twin = [&](const Fit& fit) {
    return &fit == &found[0] || are_twins(*found[0].layout.spec, *fit.layout.spec);
  };
  if (std::ranges::all_of(found, twin)) return first_of_twins(std::move(found), tensors);
  std::string names;
  std::vector<Layout> layouts;
  for (const Fit& fit : found) {
    append(names, family_text(fit.layout));
    layouts.push_back(fit.layout);
  }
  return fail(ErrorKind::kAmbiguous, "tensors whose ids or shapes identify one family",
              to_string(tensors) + ", which fit " + names,
              "set detector= to one of them" + input_hint(layouts));
}

}  // namespace

std::vector<Layout> fitting_families(std::span<const TensorView> tensors, const Request& request) {
  std::vector<Layout> out;
  for (Fit& each : fits(tensors, request)) out.push_back(std::move(each.layout));
  return out;
}

Result<std::optional<ShapeMatch>> match_by_shape(std::span<const TensorView> tensors,
                                                 const Request& request) {
  if (tensors.size() < 2) return std::nullopt;
  return best_of(fits(tensors, request), tensors);
}

Result<std::optional<ShapeMatch>> match_by_names(std::span<const TensorView> tensors,
                                                 const Request& request) {
  std::vector<Fit> found;
  for (const DetectorSpec& spec : detectors())
    if (has_plain_names(spec, tensors))
      if (auto each = fit_of(spec, tensors, request)) found.push_back(*std::move(each));
  const auto same_boxes = [&](const Fit& fit) {
    return fit.layout.spec->box_yx == found[0].layout.spec->box_yx;
  };
  const auto by_shape = [](const Fit& fit) { return fit.layout.spec->by_shape; };
  if (std::ranges::any_of(found, by_shape)) std::erase_if(found, std::not_fn(by_shape));
  else if (std::ranges::all_of(found, same_boxes)) found.resize(std::min<size_t>(found.size(), 1));
  return best_of(std::move(found), tensors);
}

}  // namespace keepbox
