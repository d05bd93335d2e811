// SPDX-License-Identifier: LGPL-2.1-or-later
// What a surface to be fuzzed is, and what its inputs are drawn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace keepbox::fuzz {

/// Values drawn from a string of bytes, one after the other, so that other bytes make another case of
/// the same kind. At the end of the bytes everything is 0, false or empty.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : rest_(bytes) {}

  /// 0 .. n - 1; 0 where n is 0. Takes one byte, or as many as n - 1 has; none where n is 1 or less.
  uint32_t below(uint32_t n);
  /// low .. high, both of them. @pre low <= high
  uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  /// True in so many of a hundred cases.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  /// Mostly some number of 0..1, of a few units or of hundreds; now and then a NaN, an infinity, a
  /// denormal, a huge number or a negative zero.
  float number();
  /// At most so many letters, mostly such as stand in names and numbers.
  std::string text(size_t most);
  /// At most so many bytes, as they stand.
  std::span<const uint8_t> bytes(size_t most);
  /// One of some. @pre there is one
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

// A surface is a program: its file defines these three.
extern const char* const kSurface;  // "core", as in fuzz-core and corpus/core
void set_up();                      // called once, before all inputs
void run_one(Input& input);         // leaves nothing behind that another input could notice

/// Ends the program: something holds no longer that always has to. Who runs it has the input.
[[noreturn]] void violated(std::string_view what);

/// Counts what became of an input, for the table that tells a surface which refuses everything.
/// "plans" is a count; of "plans:yolov8" the table also says how many different ones there were, and
/// an input with the first of its name is worth keeping.
void count(std::string_view what, uint64_t number = 1);

}  // namespace keepbox::fuzz
