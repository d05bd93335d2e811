// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of the C functions.
#include "decode/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace keepbox {
namespace {

KeepboxDecodeStatus status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kMismatch:
    case ErrorKind::kAmbiguous: return KEEPBOX_DECODE_MISMATCH;
    case ErrorKind::kUnsupported: return KEEPBOX_DECODE_UNSUPPORTED;
    case ErrorKind::kInvalid: return KEEPBOX_DECODE_INVALID;
    case ErrorKind::kTruncated: return KEEPBOX_DECODE_TRUNCATED;
    default: return KEEPBOX_DECODE_NO_RESOURCE;
  }
}

/// Returns the length of the beginning of a UTF-8 text that has whole characters and fits.
size_t whole_length(std::string_view text, size_t maximum) {
  if (text.size() <= maximum) return text.size();
  const auto continues = [&](size_t at) { return (text[at] & 0xc0) == 0x80; };
  size_t length = maximum;
  while (length > 0 && continues(length)) --length;
  return length;
}

void write(std::string_view text, KeepboxDecodeError& to) {
  constexpr std::string_view kRest = "...";
  constexpr size_t kMost = sizeof to.message - 1;
  size_t length = text.size();
  if (length > kMost) length = whole_length(text, kMost - kRest.size());
  std::memcpy(to.message, text.data(), length);
  if (length < text.size()) length += kRest.copy(to.message + length, kRest.size());
  to.message[length] = '\0';
}

}  // namespace

KeepboxDecodeStatus report(const Error& error, KeepboxDecodeError* to) {
  const KeepboxDecodeStatus status = status_of(error.kind);
  if (to == nullptr) return status;
  to->status = status;
  write(error.message(), *to);
  return status;
}

KeepboxDecodeStatus report(const Status& status, KeepboxDecodeError* to) {
  if (!status) return report(status.error(), to);
  if (to != nullptr) to->status = KEEPBOX_DECODE_OK, to->message[0] = '\0';
  return KEEPBOX_DECODE_OK;
}

}  // namespace keepbox
