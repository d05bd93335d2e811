// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of an image's kept boxes, as callers read it.
#pragma once

#include <span>
#include <vector>

#include "core/formula/mask.h"
#include "core/run/backend.h"

namespace keepbox {

/// The payload of one image, from the output of a runner.
class PayloadStage {
 public:
  /// @param output stays valid until the next run.
  void run(const Plan& plan, uint32_t image, const PayloadOutput& output);

  /// Drops the payload.
  void clear();

  /// Returns the values, plan.payload.count per box. Valid until the next run.
  std::span<const float> values() const { return values_; }
  /// Returns one mask per box, or none at all. Valid until the next run.
  std::span<const Mask> masks() const { return masks_; }

 private:
  std::span<const float> values_;
  std::vector<Mask> masks_;
};

}  // namespace keepbox
