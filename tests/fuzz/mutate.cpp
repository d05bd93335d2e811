// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes inputs.
#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace keepbox::fuzz {
namespace {

/// Returns 0 .. n - 1, and 0 if n is 0. Distributions of standard libraries differ.
size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

/// Returns a piece of at most 32 bytes.
std::span<const uint8_t> piece(Random& random, const Bytes& of) {
  const size_t first = below(random, of.size());
  const size_t most = std::min<size_t>(of.size() - first, 32);
  return std::span(of).subspan(first, of.empty() ? 0 : 1 + below(random, most));
}

void put(Random& random, Bytes& bytes, std::span<const uint8_t> what) {
  const Bytes copy(what.begin(), what.end());  // it may overlap
  const auto at = static_cast<ptrdiff_t>(below(random, bytes.size() + 1));
  bytes.insert(bytes.begin() + at, copy.begin(), copy.end());
}

void write_over(Random& random, Bytes& bytes, std::span<const uint8_t> what) {
  const size_t at = below(random, bytes.size());
  const size_t count = std::min(what.size(), bytes.size() - at);
  std::ranges::copy(what.first(count), bytes.begin() + static_cast<ptrdiff_t>(at));
}

void change(Random& random, Bytes& bytes, const Bytes& other) {
  const size_t at = below(random, bytes.size());
  if (bytes.empty()) return bytes.push_back(static_cast<uint8_t>(random()));
  switch (random() % 10) {
    case 0: bytes[at] ^= static_cast<uint8_t>(1u << random() % 8); break;
    case 1: bytes[at] = static_cast<uint8_t>(bytes[at] + 1); break;
    case 2: bytes[at] = static_cast<uint8_t>(bytes[at] - 1); break;
    case 3:
    case 4: bytes[at] = static_cast<uint8_t>(random()); break;
    case 5: bytes.resize(at + 1); break;
    case 6: {
      const size_t count = 1 + below(random, std::min<size_t>(bytes.size() - at, 16));
      const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
      bytes.erase(first, first + static_cast<ptrdiff_t>(count));
      break;
    }
    case 7: put(random, bytes, piece(random, bytes)); break;
    case 8: put(random, bytes, piece(random, other)); break;
    default: write_over(random, bytes, piece(random, other)); break;
  }
}

}  // namespace

Bytes fresh_input(Random& random) {
  Bytes out(below(random, size_t{16} << random() % 7));
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random());
  return out;
}

Bytes changed_input(Random& random, std::span<const Bytes> of) {
  Bytes out = of[below(random, of.size())];
  for (size_t changes = 1 + below(random, 8); changes > 0; --changes)
    change(random, out, of[below(random, of.size())]);
  if (out.size() > kMaxBytes) out.resize(kMaxBytes);
  return out;
}

}  // namespace keepbox::fuzz
