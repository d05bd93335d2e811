// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs of a mask's columns, counted across columns.
#include "gst/sink/rle.h"

#include <utility>

namespace keepbox {
namespace {

constexpr int kBits = 5;               // per digit
constexpr int64_t kMore = 1 << kBits;  // set in each digit except the last
constexpr char kZero = '0';

/// Appends a number; the highest bit of its last digit is its sign.
void append_digits(std::string& out, int64_t number) {
  for (bool more = true; more;) {
    const int64_t digit = number & (kMore - 1);
    number >>= kBits;
    more = number != ((digit & (kMore >> 1)) != 0 ? -1 : 0);
    out += static_cast<char>(kZero + digit + (more ? kMore : 0));
  }
}

}  // namespace

void RunLengths::add(uint64_t first, uint64_t last) {
  if (first >= last) return;
  if (first == end_ && !lengths_.empty()) {
    lengths_.back() += last - first;
  } else {
    lengths_.push_back(first - end_);
    lengths_.push_back(last - first);
  }
  end_ = last;
}

std::string RunLengths::text(uint64_t pixels) {
  std::vector<uint64_t> lengths = std::exchange(lengths_, {});
  const uint64_t end = std::exchange(end_, 0);
  if (end < pixels || lengths.empty()) lengths.push_back(pixels - end);
  std::string out;
  for (size_t i = 0; i < lengths.size(); ++i)
    append_digits(out, static_cast<int64_t>(lengths[i] - (i > 2 ? lengths[i - 2] : 0)));
  return out;
}

std::string rle_of(const MaskView& mask, const Box& place, Size frame) {
  MaskRuns columns(mask, place, frame, MaskRuns::Lines::kColumns);
  RunLengths lengths;
  for (int x = columns.lines().first; x < columns.lines().last; ++x) {
    const uint64_t column = uint64_t(x) * frame.height;
    for (const PixelRun& run : columns.of(x))
      lengths.add(column + uint64_t(run.first), column + uint64_t(run.last));
  }
  return lengths.text(uint64_t{frame.width} * frame.height);
}

std::string rle_of(const MaskView& mask) {
  const Size own{mask.width(), mask.height()};
  return rle_of(mask, {0, 0, float(own.width), float(own.height)}, own);
}

}  // namespace keepbox
