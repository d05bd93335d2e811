// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits of a plan: wanted classes with their thresholds, and the numbers of candidates.
#include "core/plan/limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <format>
#include <iterator>
#include <utility>

#include "core/formula/oriented.h"
#include "core/model/nms_methods.h"
#include "core/recognition/texts.h"

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
  if (!settings.track_score_threshold) return;
  plan.output_threshold = plan.class_threshold;
  for (float& each : plan.class_threshold) each = std::min(each, *settings.track_score_threshold);
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
  const float own = spec.score_threshold > 0 ? spec.score_threshold : kScoreThreshold;
  plan.class_threshold.assign(ids, settings.score_threshold.value_or(own));
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

namespace {

/// Returns `limit`, or `maximum` if that is lower or the limit is 0.
uint32_t limit_or_max(uint32_t limit, uint32_t maximum) {
  return limit == 0 ? maximum : std::min(limit, maximum);
}

/// Returns the maximum number of boxes kept by the overall and class limits.
uint64_t max_kept(const Rules& rules) {
  const uint32_t classes = rules.classes == 0 ? kMaxClasses : rules.end_class - rules.first_class;
  return std::min<uint64_t>(rules.kept_capacity, uint64_t{rules.class_limit} * classes);
}

/// Returns the method's own limit of candidates; 0: none.
uint32_t ceiling_of(const Rules& rules) {
  const NmsTraits& method = traits_of(rules.method);
  const uint64_t pairs = method.pairs_of(rules.oriented);
  if (pairs == 0) return 0;
  const uint64_t kept = method.pairs == Pairs::kAll ? kMaxAnchors : max_kept(rules);
  // n candidates make n^2 / 2 pairs, or n - kept / 2 per kept box.
  if (kept * kept / 2 >= pairs) return static_cast<uint32_t>(std::sqrt(2.0 * double(pairs)));
  return kept == 0 ? 0 : static_cast<uint32_t>(pairs / kept + kept / 2);
}

/// Chooses the method: a contract's default does not apply to families without NMS.
NmsMethod method_of(const Plan& plan, const Settings& settings) {
  if (settings.nms_method != NmsMethod::kAuto) return settings.nms_method;
  return plan.spec->nms != NmsMethod::kGreedy ? plan.spec->nms : plan.rules.contract.method;
}

/// Settles pre_nms_top_k, by settings, contract and method.
void settle_candidates(Plan& plan, const Settings& settings) {
  Rules& rules = plan.rules;
  const uint32_t maximum = limit_or_max(rules.contract.max_candidates, rules.candidates);
  const uint32_t ceiling = limit_or_max(ceiling_of(rules), maximum);
  plan.has_ceiling = settings.pre_nms_top_k == 0 && ceiling < maximum;
  rules.pre_nms_top_k =
      settings.pre_nms_top_k == 0 ? ceiling : std::min(settings.pre_nms_top_k, rules.candidates);
}

}  // namespace

NmsContract settle_contract(const NmsContract& contract, const Settings& settings, bool oriented) {
  NmsContract out = contract;
  if (oriented) out.plus_one = out.reorder_corners = out.empty_overlap = false;
  if (settings.class_agnostic) out.class_offset = 0;
  out.class_agnostic |= settings.class_agnostic || out.class_offset != 0;
  return out;
}

void settle_limits(Plan& plan, const Settings& settings) {
  const uint32_t maximum = plan.rules.candidates;
  const NmsContract& contract = plan.rules.contract;
  Rules& rules = plan.rules;
  rules.max_detections = std::min(settings.max_detections, maximum);
  rules.class_limit =
      limit_or_max(settings.class_top_k, contract.per_class_limit ? rules.max_detections : maximum);
  rules.pre_nms_class_top_k =
      settings.pre_nms_class_top_k < maximum ? settings.pre_nms_class_top_k : 0;
  rules.kept_capacity = contract.per_class_limit ? maximum : rules.max_detections;
  rules.method = method_of(plan, settings);
  settle_candidates(plan, settings);
  settle_reach(rules);
}

void settle_reach(Rules& rules) {
  rules.reach = reach_of(rules.iou_threshold, !traits_of(rules.method).by_threshold);
}

std::optional<Error> ceiling_reached(const Plan& plan, uint32_t candidates, uint32_t compared) {
  const uint32_t maximum = plan.rules.pre_nms_top_k;
  if (!plan.has_ceiling || candidates <= maximum || compared < maximum) return std::nullopt;
  return problem(ErrorKind::kUnsupported,
                 std::format("Only the best {} of {} candidates are used, because this nms-method "
                             "compares pairs",
                             maximum, candidates),
                 "raise score-threshold=, or set another nms-method=");
}

Status check_ceiling(const Plan& plan, uint32_t candidates) {
  const uint32_t maximum = plan.rules.pre_nms_top_k;
  if (!plan.has_ceiling || candidates <= maximum) return {};
  return reject(ErrorKind::kUnsupported,
                std::format("nms-method={} compares pairs, and {} boxes are too many for that: "
                            "the maximum is {}",
                            traits_of(plan.rules.method).name, candidates, maximum),
                "set score-threshold= or max-detections=, or another nms-method=");
}

// The size and region filters.

namespace {

constexpr float kAny = std::numeric_limits<float>::infinity();

std::unexpected<Error> bad(const std::string& property, const std::string& problem,
                           const std::string& rule) {
  return reject(ErrorKind::kInvalid, property + " " + problem, "set " + property + "= to " + rule);
}

std::string text(BoxSize size) { return std::format("{}x{}", size.width, size.height); }

Status check_sizes(const BoxSizes& sizes, const std::string& property) {
  const auto possible = [](BoxSize size) {
    return size.width >= 0 && size.height >= 0 && std::isfinite(size.width) &&
           std::isfinite(size.height);
  };
  const auto impossible = [&](BoxSize size) {
    return bad(property, "is not possible: " + text(size), "pixels, 0 or more");
  };
  if (!possible(sizes.all)) return impossible(sizes.all);
  for (const auto& [id, size] : sizes.of_class) {
    if (!possible(size)) return impossible(size);
    if (id >= kMaxClasses)
      return bad(property, "names class " + std::to_string(id),
                 "sizes of classes below " + std::to_string(kMaxClasses));
  }
  return {};
}

Status check_regions(const std::vector<Region>& regions, const std::string& property) {
  if (regions.size() > kMaxRegions)
    return bad(property, "has " + std::to_string(regions.size()) + " regions",
               "at most " + std::to_string(kMaxRegions));
  const auto possible = [](const Region& each) {
    const Box& b = each.box;
    return std::isfinite(b.x1) && std::isfinite(b.y1) && std::isfinite(b.x2) &&
           std::isfinite(b.y2) && b.x1 < b.x2 && b.y1 < b.y2;
  };
  if (!std::ranges::all_of(regions, possible))
    return bad(property, "has a region without an area", "regions with width and height");
  return {};
}

/// Writes sizes to the limits of all classes; 0 means no limit.
void put(std::vector<SizeLimits>& limits, const BoxSizes& sizes, float SizeLimits::* width,
         float SizeLimits::* height, float any) {
  const auto set = [&](SizeLimits& of, BoxSize size) {
    of.*width = size.width > 0 ? size.width : any;
    of.*height = size.height > 0 ? size.height : any;
  };
  for (SizeLimits& each : limits) set(each, sizes.all);
  for (const auto& [id, size] : sizes.of_class)
    if (id < limits.size()) set(limits[id], size);
}

}  // namespace

Status check_filters(const FilterSettings& settings) {
  KB_TRY(check_sizes(settings.min_size, "min-size"));
  KB_TRY(check_sizes(settings.max_size, "max-size"));
  KB_TRY(check_regions(settings.regions, "regions"));
  return check_regions(settings.excluded, "regions");
}

void settle_filters(Plan& plan, const FilterSettings& settings, bool parts) {
  const bool sized = settings.min_size != BoxSizes{} || settings.max_size != BoxSizes{};
  plan.size_limits.assign(sized ? plan.rules.class_ids : 0, {});
  put(plan.size_limits, settings.min_size, &SizeLimits::min_width, &SizeLimits::min_height, 0);
  put(plan.size_limits, settings.max_size, &SizeLimits::max_width, &SizeLimits::max_height, kAny);
  plan.regions = settings.regions;
  std::ranges::copy(settings.excluded, std::back_inserter(plan.regions));
  plan.rules.regions = {.wanted = static_cast<uint8_t>(settings.regions.size()),
                        .excluded = static_cast<uint8_t>(settings.excluded.size()),
                        .rule = settings.rule};
  plan.part_regions = parts ? std::exchange(plan.regions, {}) : std::vector<Region>{};
  plan.part_rules = parts ? std::exchange(plan.rules.regions, {}) : RegionRules{};
}

}  // namespace keepbox
