// SPDX-License-Identifier: LGPL-2.1-or-later
// Distinguishes new mismatches from those that were reported.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// Returns what errors of one cause have in common: the statement without its numbers, or what was
/// expected.
std::string cause_of(const Error& error);

/// The kinds of mismatches of a stream.
class Mismatches {
 public:
  /// Returns true for the first error of each kind, up to a limit that bounds memory if every frame
  /// fails differently. Errors that differ in numbers alone, as those of frames do, are of one
  /// kind.
  bool add(const Error& error);
  void clear() { kinds_.clear(); }

 private:
  std::vector<std::string> kinds_;
};

}  // namespace keepbox
