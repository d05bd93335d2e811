// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares texts by the edits between them.
#include "gst/base/spelling.h"

#include <glib.h>

#include <algorithm>
#include <vector>

namespace keepbox {
namespace {

/// Returns the case-insensitive edit distance of two texts, in which two swapped neighbours are one
/// edit (optimal string alignment), or more than `max_edits` if their lengths differ by more.
size_t edits(std::string_view a, std::string_view b, size_t max_edits) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > max_edits) return max_edits + 1;
  const size_t columns = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * columns + j]; };
  const auto same = [&](size_t i, size_t j) {
    return g_ascii_tolower(a[i - 1]) == g_ascii_tolower(b[j - 1]);
  };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + !same(i, j)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j))
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

}  // namespace

void NearestName::consider(std::string_view name) {
  const size_t away = edits(text_, name, max_edits_);
  if (name.empty() || away > max_edits_ || (!found_.empty() && away == max_edits_)) return;
  found_ = name;
  max_edits_ = away;
}

std::string set_or_ask(std::string_view name) {
  return name.empty() ? "set " : "did you mean " + std::string(name) + "? Set ";
}

}  // namespace keepbox
