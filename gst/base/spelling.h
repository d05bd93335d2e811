// SPDX-License-Identifier: LGPL-2.1-or-later
// Names that misspelt ones may stand for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keepbox {

/// Finds the name that a text is most like: at most a third of its letters are wrong, and upper and
/// lower case are equal. The first of several that are equally near.
class NearestName {
 public:
  /// @param text outlives this, as do the names.
  explicit NearestName(std::string_view text) : text_(text), max_edits_(text.size() / 3) {}

  void consider(std::string_view name);
  /// Returns the nearest name so far; empty if none is near.
  std::string_view found() const { return found_; }

 private:
  std::string_view text_, found_;
  size_t max_edits_;
};

/// Returns the beginning of a hint: "did you mean NAME? Set ", or "set " if the name is empty.
std::string set_or_ask(std::string_view name);

}  // namespace keepbox
