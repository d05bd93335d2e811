// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors as values: what is wrong, and what to do.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace keepbox {

enum class ErrorKind : uint8_t {
  kMismatch,     // the tensors do not fit the detector
  kAmbiguous,    // the tensors fit more than one detector
  kUnsupported,  // understood, but not supported by any backend
  kInvalid,      // a setting is out of its range
  kTruncated,    // less data than the dimensions imply
  kNoResource,   // memory, file or device
  kInterrupted,  // cancelled by another thread
};

/// Describes a failure: by a statement in the user's words, or for tensors, shapes and the contents
/// of files by what was expected and what was found.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string expected;  // "a tensor of 1x84xN"
  std::string found;     // "1x12 float32"
  std::string hint;      // what to do: "set detector= to the model's family"; may be empty
  std::string place{};   // "box.detector:7: coding", for errors in a text; may be empty
  std::string what{};    // the statement: "iou-threshold=0.3 has no effect: NMS is off"

  /// Returns "PLACE: WHAT. HINT." with the hint as a sentence, or
  /// "PLACE: expected A, found B: HINT".
  std::string message() const;

  /// Returns "WHAT", or "expected A, found B".
  std::string statement() const;

  /// Adds words about the subject: "WHAT WORDS", or "expected A WORDS, found B".
  Error& add(std::string_view words);

  /// Puts the error into an enclosing place: "PLACE: " before its own place.
  Error& put_in(std::string_view outer);

  friend bool operator==(const Error&, const Error&) = default;
};

/// Makes an error from a statement and a hint.
inline Error problem(ErrorKind kind, std::string what, std::string hint = {}) {
  return {kind, {}, {}, std::move(hint), {}, std::move(what)};
}

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

/// Fails with a comparison.
inline std::unexpected<Error> fail(ErrorKind kind, std::string expected, std::string found,
                                   std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(expected), std::move(found), std::move(hint)});
}

/// Fails with a statement.
inline std::unexpected<Error> reject(ErrorKind kind, std::string what, std::string hint = {}) {
  return std::unexpected(problem(kind, std::move(what), std::move(hint)));
}

/// Returns a result whose error, if it has one, is put into a place.
template <class T>
Result<T> placed(Result<T> result, std::string_view place) {
  if (!result) result.error().put_in(place);
  return result;
}

}  // namespace keepbox

/// Returns from the function with the error of a Status or a Result, if it has one.
#define KB_TRY(expression)                                                          \
  do {                                                                              \
    if (auto&& kb_status = (expression); !kb_status)                                \
      return std::unexpected(std::forward<decltype(kb_status)>(kb_status).error()); \
  } while (false)

/// Declares or sets a variable to the value of a Result, or returns from the function with its
/// error:
/// KB_ASSIGN(auto labels, Labels::load(path));
#define KB_ASSIGN(declaration, ...) \
  KB_ASSIGN_BY(KB_JOINED(kb_result_, __LINE__), declaration, __VA_ARGS__)

#define KB_ASSIGN_BY(result, declaration, ...)                    \
  auto result = (__VA_ARGS__);                                    \
  if (!result) return std::unexpected(std::move(result.error())); \
  declaration = std::move(*result)
#define KB_JOINED(a, b) KB_JOINED_AS_IS(a, b)
#define KB_JOINED_AS_IS(a, b) a##b
