// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares messages without their numbers, and reports new ones.
#include "gst/decode/mismatches.h"

#include <algorithm>
#include <utility>

#include "gst/base/error.h"
#include "gst/decode/decodelog.h"

#define GST_CAT_DEFAULT ::keepbox::decode_log()

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

bool Mismatches::tolerate(GstElement* element, OnMismatch policy, const Error& error) {
  const bool about_tensors =
      error.kind != ErrorKind::kInvalid && error.kind != ErrorKind::kNoResource;
  if (policy == OnMismatch::kError || !about_tensors) return false;
  if (!add(error)) return true;
  if (policy == OnMismatch::kWarn) post_warning(element, error);
  else GST_INFO_OBJECT(element, "%s", error.message().c_str());
  return true;
}

}  // namespace keepbox
