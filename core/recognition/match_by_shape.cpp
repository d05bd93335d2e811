// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits all families with several tensors.
#include "core/recognition/match_by_shape.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "core/recognition/fit.h"
#include "core/recognition/grid.h"
#include "core/recognition/recognise.h"
#include "core/recognition/row_checks.h"
#include "core/recognition/unread.h"
#include "core/recognition/value_checks.h"
#include "core/recognition/value_patterns.h"

namespace keepbox {
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
  const uint32_t known = request.class_count != 0 ? request.class_count : request.label_count;
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
  for (const Fit& fit : found) names += (names.empty() ? "" : ", ") + sized_text(fit);
  Error warning = problem(
      ErrorKind::kAmbiguous,
      "The tensors " + to_string(tensors) + " fit several families; the first is used: " + names,
      "set detector=, or model-width= and model-height= to the size of the model's input");
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
    names += (names.empty() ? "" : ", ") + family_text(fit.layout);
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
