// SPDX-License-Identifier: LGPL-2.1-or-later
// A wish that what takes long ends early.
#pragma once

#include <atomic>

namespace keepbox {

/// A flag that another thread sets, or none. Kernels look at it between boxes that are kept, or
/// between candidates that are compared with many; what they return then means nothing.
class Stop {
 public:
  Stop() = default;
  explicit Stop(const std::atomic<bool>* flag) : flag_(flag) {}

  bool asked() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace keepbox
