// SPDX-License-Identifier: LGPL-2.1-or-later
// The same photos by several contracts of suppression: which boxes differ, and why.
#pragma once

#include <string>
#include <vector>

#include "core/box.h"

namespace keepbox::test {

/// A box that one contract keeps and another does not.
struct Difference {
  std::string photo, contract;
  Detection box;
  bool lost = false;   // kept by "exact" alone; else by the contract alone
  std::string reason;  // empty: nothing explains it
};

/// What contracts make of the recorded photos beside "exact".
struct Dialects {
  size_t photos = 0, boxes = 0;  // by "exact", of all photos
  std::vector<std::string> contracts;
  std::vector<Difference> differences;
};

/// @param score, iou thresholds of all contracts.
Dialects compare_dialects(float score, float iou);

/// "000000000139: anchor 3382, class 56, .412 goes: ..."
std::string to_string(const Difference& difference);

}  // namespace keepbox::test
