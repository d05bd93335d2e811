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

uint32_t foreground_classes(const Layout& layout) {
  return layout.classes - std::min(layout.spec->background_count(), layout.classes);
}

namespace {

/// Returns the number of class ids that the tables of a plan have.
uint32_t class_ids(const Layout& layout) {
  return layout.classes == 0 ? kMaxClasses : layout.classes;
}

/// Lowers the thresholds to that of trackers, and notes the original ones.
void settle_track_threshold(Plan& plan, const Settings& settings) {
  plan.output_threshold.clear();
  if (!settings.track_threshold) return;
  plan.output_threshold = plan.class_threshold;
  for (float& each : plan.class_threshold) each = std::min(each, *settings.track_threshold);
}

}  // namespace

std::vector<uint8_t> class_filter(const Layout& layout, const Settings& settings) {
  std::vector<uint8_t> wanted(class_ids(layout), settings.include_classes.empty() ? 1 : 0);
  for (const uint32_t id : settings.include_classes)
    if (id < wanted.size()) wanted[id] = 1;
  for (const uint32_t id : settings.exclude_classes)
    if (id < wanted.size()) wanted[id] = 0;
  return wanted;
}

void settle_classes(Plan& plan, const Settings& settings) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t scores = plan.layout.classes;
  plan.rules.first_class = spec.background == Background::kFirst && scores > 0 ? 1 : 0;
  plan.rules.end_class = spec.background == Background::kLast && scores > 0 ? scores - 1 : scores;
  const uint32_t ids = class_ids(plan.layout);
  const bool own = settings.default_score_threshold && spec.score_threshold > 0;
  plan.class_threshold.assign(ids, own ? spec.score_threshold : settings.score_threshold);
  for (const auto& [id, threshold] : settings.class_thresholds)
    if (id < ids) plan.class_threshold[id] = threshold;
  settle_track_threshold(plan, settings);
  plan.class_wanted = class_filter(plan.layout, settings);
  plan.rules.class_ids = ids;
  plan.rules.lowest_threshold = std::ranges::min(plan.class_threshold);
  const auto lowest = [&](float each) { return each == plan.rules.lowest_threshold; };
  plan.rules.uniform = std::ranges::all_of(plan.class_threshold, lowest) &&
                       !std::ranges::contains(plan.class_wanted, 0);
  settle_filters(plan, settings.filters, settings.parts);
}

uint64_t candidates_of(const Plan& plan, std::span<const uint8_t> wanted) {
  if (!plan.rules.multi_label) return plan.layout.anchors;
  const auto real = wanted.subspan(plan.rules.first_class, foreground_classes(plan.layout));
  const auto count = std::ranges::count(real, 1);
  return uint64_t{plan.layout.anchors} * static_cast<uint64_t>(std::max<ptrdiff_t>(count, 1));
}

std::string labels_text(const Plan& plan, uint64_t candidates) {
  return counted(plan.layout.anchors, "anchor") + " of " +
         std::to_string(candidates / std::max(plan.layout.anchors, 1u)) + " classes";
}

Status settle_labels(Plan& plan, const Settings& settings) {
  const DetectorSpec& spec = *plan.spec;
  const bool has_scores =
      plan.layout[FieldId::kScores].present() && spec.reader != Reader::kIndices;
  plan.rules.multi_label = has_scores && foreground_classes(plan.layout) > 1 &&
                           settings.multi_label.value_or(spec.multi_label);
  const uint64_t candidates = candidates_of(plan, plan.class_wanted);
  if (candidates > kMaxCandidates) {
    Error error = problem(ErrorKind::kUnsupported,
                          "multi-label=true is not possible with " + labels_text(plan, candidates) +
                              ": the maximum is " + std::to_string(kMaxCandidates) + " candidates",
                          "set multi-label=false, or include-classes= to fewer classes");
    if (settings.multi_label) return std::unexpected(std::move(error));
    plan.warnings.push_back(std::move(error));
    plan.rules.multi_label = false;
  }
  plan.rules.candidates = static_cast<uint32_t>(candidates_of(plan, plan.class_wanted));
  return {};
}

}  // namespace keepbox
