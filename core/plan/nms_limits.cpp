// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles the method of suppression and its limits.
#include "core/plan/nms_limits.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <string>

#include "core/formula/oriented.h"
#include "core/model/nms_methods.h"

namespace keepbox {
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
  if (settings.method != NmsMethod::kAuto) return settings.method;
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
                 "raise score-threshold=, or set pre-nms-top-k= to use more");
}

}  // namespace keepbox
