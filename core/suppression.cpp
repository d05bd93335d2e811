// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles the method of suppression and its limits.
#include "core/suppression.h"

#include <algorithm>

#include "core/turned.h"

namespace keepbox {
namespace {

/// At most `limit`, where there is one.
uint32_t up_to(uint32_t limit, uint32_t most) {
  return limit == 0 ? most : std::min(limit, most);
}

/// A family that suppresses by itself is not suppressed again by a contract's habit.
NmsMethod method_of(const Plan& plan, const Settings& settings) {
  if (settings.method != NmsMethod::kAuto) return settings.method;
  return plan.spec->nms != NmsMethod::kGreedy ? plan.spec->nms : plan.rules.contract.method;
}

}  // namespace

NmsContract settle_contract(const NmsContract& contract, const Settings& settings, bool turned) {
  NmsContract out = contract;
  if (turned) out.plus_one = out.reorder_corners = out.empty_overlap = false;
  if (settings.class_agnostic) out.class_offset = 0;
  out.class_agnostic |= settings.class_agnostic || out.class_offset != 0;
  return out;
}

void settle_limits(Plan& plan, const Settings& settings) {
  const uint32_t most = plan.rules.candidates;
  const NmsContract& contract = plan.rules.contract;
  const uint32_t candidates =
      settings.pre_nms_top_k != 0 ? settings.pre_nms_top_k : contract.most_candidates;
  Rules& rules = plan.rules;
  rules.max_detections = std::min(settings.max_detections, most);
  rules.class_limit =
      up_to(settings.class_top_k, contract.per_class_limit ? rules.max_detections : most);
  rules.pre_nms_top_k = up_to(candidates, most);
  rules.pre_nms_class_top_k =
      settings.pre_nms_class_top_k < most ? settings.pre_nms_class_top_k : 0;
  rules.kept_capacity = contract.per_class_limit ? most : rules.max_detections;
  rules.method = method_of(plan, settings);
  settle_reach(rules);
}

void settle_reach(Rules& rules) {
  const bool all = rules.method == NmsMethod::kSoftGaussian ||
                   rules.method == NmsMethod::kMatrix || rules.method == NmsMethod::kMatrixLinear;
  rules.reach = reach_of(rules.iou_threshold, all);
}

}  // namespace keepbox
