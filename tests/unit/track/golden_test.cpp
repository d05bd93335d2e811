// SPDX-License-Identifier: LGPL-2.1-or-later
// Ids and predicted boxes bit by bit, as every compiler and machine returns them. The input is made
// of integers, so that it is the same everywhere, too.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <ostream>
#include <vector>

#include "tests/unit/track/own.h"

namespace keepbox {
namespace {

using test::kStep;

/// 64-bit FNV-1a of 64-bit values.
class Hash {
 public:
  void add(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte)
      state_ = (state_ ^ (value >> (8 * byte) & 0xff)) * 0x100000001b3u;
  }
  void add(const Box& box) {
    for (const float side : {box.x1, box.y1, box.x2, box.y2}) add(std::bit_cast<uint32_t>(side));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

/// People who walk on a picture of 960x720 and are reflected by its edges, in quarters of pixels.
class Walkers {
 public:
  Walkers() {
    for (Walker& w : walkers_)
      w = {below(3600), below(2600), below(49) - 24, below(25) - 12, 120 + below(120)};
  }

  std::vector<Observation> next() {
    std::vector<Observation> out;
    for (Walker& w : walkers_) {
      if (below(32) == 0) w.dx = below(49) - 24;
      w.dx = w.x < 0 || w.x > 3600 ? -w.dx : w.dx;
      w.dy = w.y < 0 || w.y > 2600 ? -w.dy : w.dy;
      w.x += w.dx;
      w.y += w.dy;
      if (below(10) == 0) continue;  // missed
      const int score = below(6) == 0 ? 10 + below(25) : 40 + below(24);
      const int x = w.x + below(9), y = w.y + below(9);  // in this order
      out.push_back({box(x, y, w.side), quarter(score) / 16.0f, 0});
    }
    return out;
  }

  int below(int limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(limit));
  }

 private:
  struct Walker {
    int x, y, dx, dy, side;
  };

  static float quarter(int value) { return static_cast<float>(value) * 0.25f; }
  Box box(int x, int y, int side) {
    return {quarter(x), quarter(y), quarter(x + side), quarter(y + 2 * side + below(9))};
  }

  Walker walkers_[25];
  uint64_t state_ = 7;
};

/// Returns the hash of a method's ids, and of the boxes that it expects half a frame later. Every
/// eleventh frame is missing.
uint64_t hash_of(TrackMethod method) {
  test::Own tracker(method);
  Walkers walkers;
  Hash hash;
  for (int frame = 0; frame < 400; ++frame) {
    const std::vector<Observation> boxes = walkers.next();
    if (frame % 11 == 10) continue;
    for (const BoxTrack& track : tracker.update(boxes, frame * kStep)) {
      hash.add(track.id);
      if (track.id != 0) hash.add(tracker.moved(track.number, frame * kStep + kStep / 2));
    }
  }
  hash.add(tracker.TrackIds::last);
  return hash.value();
}

struct Golden {
  TrackMethod method;
  uint64_t hash;
};
void PrintTo(const Golden& golden, std::ostream* out) { *out << row_of(golden.method).name; }

class TrackHash : public testing::TestWithParam<Golden> {};
INSTANTIATE_TEST_SUITE_P(Tracker, TrackHash,
                         testing::Values(Golden{TrackMethod::kByteTrack, 0x9091b3b67825da36},
                                         Golden{TrackMethod::kSort, 0x57793eff961ef267},
                                         Golden{TrackMethod::kOcSort, 0xd6bc07a973444c4e}));

TEST_P(TrackHash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash_of(GetParam().method), GetParam().hash) << std::hex << hash_of(GetParam().method);
}

}  // namespace
}  // namespace keepbox
