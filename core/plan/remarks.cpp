// SPDX-License-Identifier: LGPL-2.1-or-later
// Names other families, and what the producer declares.
#include "core/plan/remarks.h"

#include <format>
#include <string>

#include "core/recognition/others.h"

namespace keepbox {

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
  const bool contract = settings.contract == "auto" && plan.spec->contract.empty() &&
                        !settings.declared_contract.empty();
  const bool iou = settings.default_iou_threshold && settings.declared_iou_threshold > 0 &&
                   !(plan.spec->iou_threshold > 0) && plan.spec->nms != NmsMethod::kNone;
  if (contract) plan.remark += "; nms-contract=" + settings.declared_contract;
  if (iou)
    plan.remark += std::string(contract ? " and" : ";") +
                   std::format(" iou-threshold={}", settings.declared_iou_threshold);
  if (contract || iou) plan.remark += " as declared by the model";
}

}  // namespace keepbox
