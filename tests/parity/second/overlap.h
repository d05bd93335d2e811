// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlap of candidates in the second implementation.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace keepbox::test {

/// Returns the class.
uint32_t id_of(const Candidate& c);

/// Returns the IoU, or NaN.
float iou(const Plan& plan, const Candidate& x, const Candidate& y);

/// True if an overlap reaches the threshold.
bool reaches(const Plan& plan, float value);

/// True if both have the same class, or classes are merged.
bool comparable(const Plan& plan, const Candidate& a, const Candidate& b);

/// True if one of them suppresses the other.
bool hits(const Plan& plan, const Candidate& x, const Candidate& y);

}  // namespace keepbox::test
