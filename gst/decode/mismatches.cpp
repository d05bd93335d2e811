// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares messages without their numbers.
#include "gst/decode/mismatches.h"

#include <glib.h>

#include <algorithm>
#include <utility>

namespace keepbox {
namespace {

std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return g_ascii_isdigit(c); });
  return text;
}

}  // namespace

std::string cause_of(const Error& error) {
  return error.what.empty() ? error.expected : without_numbers(error.what);
}

bool Mismatches::add(const Error& error) {
  constexpr size_t kMaxKinds = 16;
  std::string kind = without_numbers(error.message());
  if (kinds_.size() >= kMaxKinds || std::ranges::contains(kinds_, kind)) return false;
  kinds_.push_back(std::move(kind));
  return true;
}

}  // namespace keepbox
