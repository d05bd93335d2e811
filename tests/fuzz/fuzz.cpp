// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws values from bytes, and counts.
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/tallies.h"

namespace keepbox::fuzz {
namespace {

constexpr uint32_t kOdd[] = {0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                             0xffc00001, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                             0x7f7fffff, 0xff7fffff, 0x4b000000, 0x5f000000, 0xdf000000,
                             0x42b17218, 0xc2aeac50, 0x3f7fffff, 0x3f800001, 0xbf800000};

}  // namespace

uint32_t Input::below(uint32_t n) {
  if (n <= 1) return 0;
  uint32_t value = 0;
  for (uint32_t most = n - 1; most != 0 && !rest_.empty(); most >>= 8) {
    value = value << 8 | rest_.front();
    rest_ = rest_.subspan(1);
  }
  return value % n;
}

float Input::number() {
  constexpr float kScales[] = {1, 1, 1, 1, -1, 4, -4, 640};
  const uint32_t kind = below(256);
  if (kind >= 248) return std::bit_cast<float>(pick(kOdd));
  return kScales[kind % 8] * static_cast<float>(below(1u << 16)) / 65536.0f;
}

std::string Input::text(size_t most) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyz-0123456789.,:;=x*#[]/ \t\n\r\"\\";
  std::string out;
  for (uint32_t left = below(static_cast<uint32_t>(most) + 1); left > 0; --left) {
    const uint32_t letter = below(256);
    out += letter < 240 ? kLetters[letter % kLetters.size()] : static_cast<char>(below(256));
  }
  return out;
}

std::span<const uint8_t> Input::bytes(size_t most) {
  const size_t wanted = below(static_cast<uint32_t>(most) + 1);
  const auto out = rest_.first(std::min(wanted, rest_.size()));
  rest_ = rest_.subspan(out.size());
  return out;
}

void violated(std::string_view what) {
  std::fprintf(stderr, "fuzz-%s: violated: %.*s\n", kSurface, static_cast<int>(what.size()),
               what.data());
  std::abort();
}

Tallies& tallies() {
  static Tallies all;
  return all;
}

void count(std::string_view what, uint64_t number) {
  if (number == 0) return;
  tallies().all[std::string(what)] += number;
  tallies().latest.emplace(what);
}

std::string tallies_text(const Tallies& tallies) {
  struct Sum {
    uint64_t number = 0, kinds = 0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [what, number] : tallies.all) {
    const size_t colon = what.find(':');
    Sum& sum = sums[what.substr(0, colon)];
    sum.number += number;
    sum.kinds += colon == std::string::npos ? 0 : 1;
  }
  std::string out;
  for (const auto& [what, sum] : sums) {
    out += (out.empty() ? "" : ", ") + what + " " + std::to_string(sum.number);
    if (sum.kinds != 0) out += " (" + std::to_string(sum.kinds) + " kinds)";
  }
  return out;
}

std::string tallies_json(const Tallies& tallies) {
  std::string out;
  for (const auto& [what, number] : tallies.all) {
    out += out.empty() ? "{\"" : ", \"";
    for (const char letter : what) {
      if (letter == '"' || letter == '\\') out += '\\';
      out += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
    out += "\": " + std::to_string(number);
  }
  return out.empty() ? "{}" : out + "}";
}

}  // namespace keepbox::fuzz
