// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles classes and candidates.
#include "core/plan/classes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/plan/filters.h"
#include "core/recognition/family_text.h"

namespace keepbox {
namespace {

/// Maximum number of candidates per image, of about 70 bytes each.
constexpr uint64_t kMaxCandidates = uint64_t{1} << 24;

}  // namespace

uint32_t real_classes(const Layout& layout) {
  const uint32_t background = layout.spec->background != Background::kNone ? 1 : 0;
  return layout.classes - std::min(background, layout.classes);
}

namespace {

/// Lowers the thresholds to that of trackers, and notes the original ones.
void settle_track_threshold(Plan& plan, const Settings& settings) {
  plan.shown_threshold.clear();
  if (!settings.track_threshold) return;
  plan.shown_threshold = plan.class_threshold;
  for (float& each : plan.class_threshold) each = std::min(each, *settings.track_threshold);
}

}  // namespace

void settle_classes(Plan& plan, const Settings& settings) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t scores = plan.layout.classes;
  plan.rules.first_class = spec.background == Background::kFirst && scores > 0 ? 1 : 0;
  plan.rules.end_class = spec.background == Background::kLast && scores > 0 ? scores - 1 : scores;
  const uint32_t ids = scores == 0 ? kMaxClasses : scores;
  const bool own = settings.default_score_threshold && spec.score_threshold > 0;
  plan.class_threshold.assign(ids, own ? spec.score_threshold : settings.score_threshold);
  plan.class_wanted.assign(ids, settings.include_classes.empty() ? 1 : 0);
  for (const auto& [id, threshold] : settings.class_thresholds)
    if (id < ids) plan.class_threshold[id] = threshold;
  settle_track_threshold(plan, settings);
  for (const uint32_t id : settings.include_classes)
    if (id < ids) plan.class_wanted[id] = 1;
  for (const uint32_t id : settings.exclude_classes)
    if (id < ids) plan.class_wanted[id] = 0;
  plan.rules.class_ids = ids;
  plan.rules.lowest_threshold = std::ranges::min(plan.class_threshold);
  const auto lowest = [&](float each) { return each == plan.rules.lowest_threshold; };
  plan.rules.uniform = std::ranges::all_of(plan.class_threshold, lowest) &&
                       !std::ranges::contains(plan.class_wanted, 0);
  settle_filters(plan, settings.filters, settings.parts);
}

uint64_t candidates_of(const Plan& plan) {
  if (!plan.rules.multi_label) return plan.layout.anchors;
  const auto first = plan.class_wanted.begin() + plan.rules.first_class;
  const auto wanted = std::count(first, first + real_classes(plan.layout), 1);
  return uint64_t{plan.layout.anchors} * static_cast<uint64_t>(std::max<ptrdiff_t>(wanted, 1));
}

std::string labels_text(const Plan& plan) {
  return counted(plan.layout.anchors, "anchor") + " of " +
         std::to_string(candidates_of(plan) / std::max(plan.layout.anchors, 1u)) + " classes";
}

Status settle_labels(Plan& plan, const Settings& settings) {
  const DetectorSpec& spec = *plan.spec;
  const bool has_scores =
      plan.layout[FieldId::kScores].present() && spec.reader != Reader::kIndices;
  plan.rules.multi_label = has_scores && real_classes(plan.layout) > 1 &&
                           settings.multi_label.value_or(spec.multi_label);
  if (candidates_of(plan) > kMaxCandidates) {
    Error error = problem(ErrorKind::kUnsupported,
                          "multi-label=true is not possible with " + labels_text(plan) +
                              ": the maximum is " + std::to_string(kMaxCandidates) + " candidates",
                          "set multi-label=false, or include-classes= to fewer classes");
    if (settings.multi_label) return std::unexpected(std::move(error));
    plan.warnings.push_back(std::move(error));
    plan.rules.multi_label = false;
  }
  plan.rules.candidates = static_cast<uint32_t>(candidates_of(plan));
  return {};
}

}  // namespace keepbox
