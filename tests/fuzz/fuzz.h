// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of a surface to be fuzzed, and the source of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace keepbox::fuzz {

/// Draws values from a string of bytes in sequence, so that other bytes make another case of the
/// same kind. At the end of the bytes everything is 0, false or empty.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : rest_(bytes) {}

  /// Returns 0 .. n - 1; 0 if n is 0. Takes as many bytes as n - 1 has, none if n is 1 or less.
  uint32_t below(uint32_t n);
  /// Returns low .. high, inclusive. @pre low <= high
  uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  /// True in that percentage of cases.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  /// Returns a number, mostly in 0..1, in a few units or in hundreds; sometimes NaN, an infinity, a
  /// denormal, a huge number or negative zero.
  float number();
  /// Returns at most that many characters, mostly such as occur in names and numbers.
  std::string text(size_t most);
  /// Returns at most that many bytes, unchanged.
  std::span<const uint8_t> bytes(size_t most);
  /// Picks one element. @pre there is one
  template <class T>
  const T& pick(std::span<const T> of) {
    return of[below(static_cast<uint32_t>(of.size()))];
  }
  template <class T, size_t kCount>
  const T& pick(const T (&of)[kCount]) {
    return of[below(kCount)];
  }

  bool empty() const { return rest_.empty(); }

 private:
  std::span<const uint8_t> rest_;
};

// A surface is a program whose file defines these three.
extern const char* const kSurface;  // "core", as in fuzz-core and corpus/core
void set_up();                      // called once, before all inputs
void run_one(Input& input);         // leaves no state that affects other inputs

/// Ends the program because an invariant was violated. The caller keeps the input.
[[noreturn]] void violated(std::string_view what);

/// Counts an outcome of an input, for the table that reveals a surface that rejects everything.
/// "plans" is a count; for "plans:yolov8" the table also has the number of different ones, and an
/// input with a new name is worth keeping.
void count(std::string_view what, uint64_t number = 1);

}  // namespace keepbox::fuzz
