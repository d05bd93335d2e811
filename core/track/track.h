// SPDX-License-Identifier: LGPL-2.1-or-later
// One object that is followed from frame to frame.
#pragma once

#include <array>
#include <cstdint>

#include "core/formula/box.h"
#include "core/track/assign.h"
#include "core/track/direction.h"
#include "core/track/motion.h"

namespace keepbox {

/// The last boxes of an object, by the number of the analysed frame. Older ones are forgotten.
class Observations {
 public:
  /// Frames over which the direction of movement is measured; delta t of OC-SORT.
  static constexpr uint64_t kSpan = 3;

  void add(uint64_t frame, const Box& box);
  /// Returns the box of kSpan frames before `frame`, or of the next later one.
  /// @pre a box was added.
  const Box& before(uint64_t frame) const;
  const Box& last() const { return at_[last_ % at_.size()].box; }

 private:
  struct Entry {
    uint64_t frame = 0;
    Box box;
    bool set = false;
  };
  std::array<Entry, kSpan + 1> at_;
  uint64_t last_ = 0;
};

struct Track {
  /// Steps of ByteTrack; other methods do not use them.
  enum class State : uint8_t {
    kNew,   // not confirmed; ends with its first miss
    kSeen,  // matched on the last analysed frame
    kLost,  // not matched since
  };

  uint64_t id = 0;  // 0 until it is reported for the first time
  uint64_t kind = 0;
  uint32_t box = 0;    // on this frame; kUnmatched: none
  Motion motion;       // at the time of the last analysed frame
  Motion seen_motion;  // at the time when it was last seen
  State state = State::kNew;
  uint32_t streak = 0;          // matches in a row, without the first box
  bool duplicate = false;       // of another track
  uint64_t seen_frame = 0;      // number of the frame on which it was last seen
  int64_t since = 0, seen = 0;  // times in ns: first and last seen
  Direction direction{};
  Observations observations{};
};

}  // namespace keepbox
