// SPDX-License-Identifier: LGPL-2.1-or-later
// Ways to run processors: every backend with the memory that it reads; and comparisons of boxes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/run/processor.h"

namespace keepbox::test {

/// A backend and the memory that it reads.
struct Way {
  std::string name;
  Backend backend;
  bool on_device;

  Result<Processor> processor(const Plan& plan) const;
  Status run(Processor& processor, std::span<const TensorView> views) const;
};

/// Calls what(way, plan, views, settings, name) for every family and every way that supports it.
/// The views are the tensors that the plan reads, in its order.
void each_way(const std::function<void(const Way&, const Plan&, const std::vector<TensorView>&,
                                       const Settings&, const std::string&)>& what);

/// Returns a processor of the reference.
Processor reference_of(const Plan& plan);

/// Expects the boxes of one frame of `a` and another one of `b` to be the same.
void expect_same(const Processor& a, uint32_t of_a, const Processor& b, uint32_t of_b,
                 const std::string& where);
/// Expects the same of all frames.
void expect_same(const Processor& a, const Processor& b, const std::string& where);

}  // namespace keepbox::test
