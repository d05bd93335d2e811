// SPDX-License-Identifier: LGPL-2.1-or-later
// Request to end a long computation early.
#pragma once

#include <atomic>

namespace keepbox {

/// A flag that another thread sets, or none. Kernels check it between kept boxes, or between
/// candidates with many comparisons; the results are then undefined.
class Stop {
 public:
  Stop() = default;
  explicit Stop(const std::atomic<bool>* flag) : flag_(flag) {}

  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace keepbox
