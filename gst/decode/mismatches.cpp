// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares messages without their numbers.
#include "gst/decode/mismatches.h"

#include <glib.h>

#include <algorithm>
#include <utility>

namespace keepbox {

bool Mismatches::add(const Error& error) {
  constexpr size_t kMaxKinds = 16;
  std::string kind = error.message();
  std::erase_if(kind, [](char c) { return g_ascii_isdigit(c); });
  if (kinds_.size() >= kMaxKinds || std::ranges::contains(kinds_, kind)) return false;
  kinds_.push_back(std::move(kind));
  return true;
}

}  // namespace keepbox
