// SPDX-License-Identifier: LGPL-2.1-or-later
// Text form of a family's field values: each kind of field has its accepted values, a reader and a
// printer.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/formula/conventions.h"
#include "core/model/contracts.h"
#include "core/model/detector.h"
#include "gst/base/words.h"
#include "gst/decode/detectorfile/detectorfields.h"
#include "gst/decode/detectorfile/nicks.h"

namespace keepbox::codec {

/// Prints the fewest digits that read back as the same number.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <class T>
bool read_number(std::string_view text, T& out) {
  T value{};
  if (!parse_finite(text, value)) return false;
  out = value;
  return true;
}

/// Splits "a, b" at commas; an empty text has no parts.
inline std::vector<std::string_view> parts_of(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>{} : split(text, ',');
}

template <class Range, class Print>
std::string joined_by_commas(const Range& range, Print print) {
  std::string out;
  for (const auto& each : range) out += (out.empty() ? "" : ",") + print(each);
  return out;
}

struct Text {
  std::string expected() const { return "text"; }
  bool read(std::string_view text, std::string_view& out, FamilyStorage& kept) const {
    out = kept.texts.emplace_back(text);
    return true;
  }
  std::string print(std::string_view value) const { return std::string(value); }
};

/// A nick of an enum.
template <class E>
struct OneOf {
  std::span<const Nick<E>> nicks;

  std::string expected() const {
    std::string out;
    for (const auto& each : nicks) out += (out.empty() ? "" : ", ") + std::string(each.nick);
    return "one of " + out;
  }
  bool read(std::string_view text, E& out, FamilyStorage&) const {
    const auto found = std::ranges::find(nicks, text, &Nick<E>::nick);
    if (found == nicks.end()) return false;
    out = found->value;
    return true;
  }
  std::string print(E value) const {
    return std::string(std::ranges::find(nicks, value, &Nick<E>::value)->nick);
  }
};
template <class E, size_t N>
OneOf(const Nick<E> (&)[N]) -> OneOf<E>;

struct Contract {
  std::string expected() const {
    std::string out;
    for (const auto& each : contracts()) out += (out.empty() ? "" : ", ") + std::string(each.name);
    return "one of " + out;
  }
  bool read(std::string_view text, std::string_view& out, FamilyStorage&) const {
    const NmsContract* found = find_contract(text);
    if (found != nullptr) out = found->name;
    return found != nullptr;
  }
  std::string print(std::string_view value) const { return std::string(value); }
};

template <class T>
struct Number {
  T minimum, maximum;

  std::string expected() const {
    const bool real = std::is_floating_point_v<T>;
    return std::string(real ? "a number" : "an integer") + " from " + number_text(minimum) +
           " to " + number_text(maximum);
  }
  bool read(std::string_view text, T& out, FamilyStorage&) const {
    T value{};
    if (!read_number(text, value) || value < minimum || value > maximum) return false;
    out = value;
    return true;
  }
  std::string print(T value) const { return number_text(value); }
};

/// A channel index, or none.
struct Column {
  static constexpr int8_t kNone = -1;
  Number<int8_t> number{0, 127};

  std::string expected() const { return number.expected() + ", or none"; }
  bool read(std::string_view text, int8_t& out, FamilyStorage& kept) const {
    if (text != "none") return number.read(text, out, kept);
    out = kNone;
    return true;
  }
  std::string print(int8_t value) const { return value == kNone ? "none" : number_text(value); }
};

/// An array of numbers; trailing zeros may be omitted.
template <class T, size_t kMax>
struct Numbers {
  T minimum, maximum;
  size_t fewest = 1;

  std::string expected() const {
    const std::string count =
        fewest == kMax ? std::to_string(kMax) : "up to " + std::to_string(kMax);
    return count + (std::is_floating_point_v<T> ? " numbers" : " integers") + " from " +
           number_text(minimum) + " to " + number_text(maximum) + ", comma-separated";
  }
  bool read(std::string_view text, std::array<T, kMax>& out, FamilyStorage& kept) const {
    const auto parts = parts_of(text);
    std::array<T, kMax> values{};
    if (parts.size() < fewest || parts.size() > kMax) return false;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!Number<T>{minimum, maximum}.read(parts[i], values[i], kept)) return false;
    out = values;
    return true;
  }
  std::string print(const std::array<T, kMax>& values) const {
    size_t count = kMax;
    while (count > fewest && values[count - 1] == T{}) --count;
    return joined_by_commas(std::span(values).first(count), number_text<T>);
  }
};

/// An array of names; trailing empty names may be omitted.
template <size_t kMax>
struct Names {
  std::string expected() const {
    return "up to " + std::to_string(kMax) + " comma-separated names";
  }
  bool read(std::string_view text, std::array<std::string_view, kMax>& out,
            FamilyStorage& kept) const {
    const auto parts = parts_of(text);
    if (parts.size() > kMax || std::ranges::contains(parts, std::string_view())) return false;
    out = {};
    for (size_t i = 0; i < parts.size(); ++i) out[i] = kept.texts.emplace_back(parts[i]);
    return true;
  }
  std::string print(const std::array<std::string_view, kMax>& names) const {
    const auto end = std::ranges::find(names, std::string_view());
    return joined_by_commas(std::span(names.begin(), end),
                            [](std::string_view name) { return std::string(name); });
  }
};

inline constexpr float kMaxField = 1e6f;  // for sizes and scales

struct Floats {
  std::string expected() const { return "comma-separated numbers above 0"; }
  bool read(std::string_view text, std::span<const float>& out, FamilyStorage& kept) const {
    std::vector<float> values;
    for (const std::string_view part : parts_of(text)) {
      float value = 0;
      if (!read_number(part, value) || !(value > 0) || value > kMaxField) return false;
      values.push_back(value);
    }
    out = kept.numbers.emplace_back(std::move(values));
    return true;
  }
  std::string print(std::span<const float> values) const {
    return joined_by_commas(values, number_text<float>);
  }
};

/// Sizes of anchors, or their ratios.
struct Sizes {
  std::string expected() const { return "sizes above 0 as 10x13,16x30"; }
  bool read(std::string_view text, std::span<const AnchorSize>& out, FamilyStorage& kept) const {
    std::vector<AnchorSize> sizes;
    for (const std::string_view part : parts_of(text)) {
      const size_t cross = part.find('x');
      AnchorSize size{};
      if (cross == part.npos || !read_number(part.substr(0, cross), size.width) ||
          !read_number(part.substr(cross + 1), size.height) || !(size.width > 0) ||
          !(size.height > 0) || size.width > kMaxField || size.height > kMaxField)
        return false;
      sizes.push_back(size);
    }
    out = kept.sizes.emplace_back(std::move(sizes));
    return true;
  }
  std::string print(std::span<const AnchorSize> sizes) const {
    return joined_by_commas(sizes, [](const AnchorSize& size) {
      return number_text(size.width) + "x" + number_text(size.height);
    });
  }
};

}  // namespace keepbox::codec
