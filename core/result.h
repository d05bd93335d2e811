// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors are values: what was expected, what was found, and what to set.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace keepbox {

enum class ErrorKind : uint8_t {
  kMismatch,     // the tensors do not fit the detector
  kAmbiguous,    // the tensors fit more than one detector
  kUnsupported,  // understood, but no backend can do it
  kInvalid,      // a setting is out of its range
  kTruncated,    // less data than the dimensions promise
  kNoResource,   // memory, file or device
  kInterrupted,  // nobody waits for the rest any more
};

/// One failure, in short phrases that make one sentence.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string expected;  // "a tensor of 1x84xN"
  std::string found;     // "1x12 float32"
  std::string hint;      // "set detector= to the model's family"; may be empty
  std::string place{};   // "box.detector:7: coding", of what stands in a text; may be empty

  /// "PLACE: expected A, found B: HINT"
  std::string message() const;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string expected, std::string found,
                                   std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(expected), std::move(found), std::move(hint)});
}

}  // namespace keepbox

/// Leaves the function with the error of a Status, or goes on.
#define KB_TRY(expression)                                              \
  do {                                                                  \
    if (auto kb_status = (expression); !kb_status)                      \
      return std::unexpected(std::move(kb_status.error()));             \
  } while (false)
