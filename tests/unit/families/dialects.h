// SPDX-License-Identifier: LGPL-2.1-or-later
// Differences between NMS contracts on the same photos.
#pragma once

#include <string>
#include <vector>

#include "core/formula/box.h"

namespace keepbox::test {

/// Describes a box that one contract keeps and another does not.
struct Difference {
  std::string photo, contract;
  Detection box;
  bool lost = false;   // true: kept only by "exact"; false: only by the contract
  std::string reason;  // empty: unexplained
};

/// Results of contracts compared with "exact" on the recorded photos.
struct Dialects {
  size_t photos = 0, boxes = 0;  // for "exact", all photos
  std::vector<std::string> contracts;
  std::vector<Difference> differences;
};

/// @param score, iou thresholds for all contracts.
Dialects compare_dialects(float score, float iou);

/// Returns "000000000139: anchor 3382, class 56, .412 goes: ...".
std::string to_string(const Difference& difference);

}  // namespace keepbox::test
