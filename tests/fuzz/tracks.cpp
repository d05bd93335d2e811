// SPDX-License-Identifier: LGPL-2.1-or-later
// Trackers: any boxes, scores, times and parameters. Ids are unique and ascending, an object keeps
// its kind, and the same frames give the same ids.
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "core/track/tracker.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {
namespace {

constexpr int64_t kStep = 1'000'000'000 / 30;

struct TimedFrame {
  int64_t time;
  std::vector<Observation> boxes;
  Misses misses = Misses::kCount;
};

TrackSettings draw_settings(Input& input) {
  const TrackMethodRow& row = input.pick(track_methods());
  TrackSettings out{.method = row.method, .params = row.published};
  if (input.chance(40)) {
    const auto part = [&] { return static_cast<float>(input.below(101)) / 100; };
    out.params = {part(),
                  part(),
                  part(),
                  part(),
                  input.chance(50),
                  input.below(6),
                  static_cast<int64_t>(input.below(100)) * kStep};
  }
  if (input.chance(20)) out.step = 1 + input.below(1u << 30);
  if (input.chance(20)) out.interval = 1 + input.below(1u << 30);
  return out;
}

/// Returns a box of one of a few objects that move, in whole pixels so that many are equal.
Observation draw_box(Input& input, int frame) {
  Observation out;
  out.kind = input.below(2);
  if (input.chance(15)) out.track = 1 + input.below(8);
  out.score = input.chance(5) ? input.number() : static_cast<float>(input.below(21)) / 20;
  if (input.chance(8)) {
    out.box = {input.number(), input.number(), input.number(), input.number()};
    return out;
  }
  const auto object = static_cast<float>(input.below(6));
  const float x = object * 20 + static_cast<float>(frame) * (object - 2);
  const auto shift = static_cast<float>(input.below(4));
  out.box = {x + shift, shift, x + 30, 60 + shift};
  return out;
}

std::vector<TimedFrame> draw_frames(Input& input) {
  std::vector<TimedFrame> out;
  int64_t time = input.chance(10) ? -kStep : 0;
  for (int left = static_cast<int>(input.between(1, 24)); left > 0; --left) {
    TimedFrame& frame = out.emplace_back(time);
    for (uint32_t boxes = input.below(9); boxes > 0; --boxes)
      frame.boxes.push_back(draw_box(input, static_cast<int>(out.size())));
    if (input.chance(20)) frame.misses = Misses::kIgnore;
    time += input.chance(80) ? kStep : kStep * (static_cast<int64_t>(input.below(120)) - 10);
  }
  return out;
}

/// Runs a tracker and checks what it returns.
class Checked {
 public:
  explicit Checked(const TrackSettings& settings) : tracker_(settings, ids_) {}

  std::vector<uint64_t> see(const TimedFrame& frame) {
    std::vector<uint64_t> out;
    std::set<uint64_t> here;
    time_ = began_ ? std::max(time_, frame.time) : frame.time;
    began_ = true;
    const auto found = tracker_.update(frame.boxes, frame.time, frame.misses);
    if (found.size() != frame.boxes.size()) violated("an entry per box");
    for (size_t i = 0; i < found.size(); ++i) {
      out.push_back(found[i].id);
      if (found[i].id == 0) continue;
      count("boxes with ids");
      if (!here.insert(found[i].id).second) violated("an id is on one box of a frame");
      if (found[i].id > ids_.last) violated("ids are counted");
      if (found[i].since > time_) violated("objects are not from the future");
      if (frame.boxes[i].track != 0 && frame.boxes[i].track != found[i].number)
        violated("a box repeats that of its track");
      if (frame.boxes[i].track == 0 &&
          kind_of_.try_emplace(found[i].id, frame.boxes[i].kind).first->second !=
              frame.boxes[i].kind)
        violated("an object keeps its kind");
      if (!tracker_.has(found[i].number)) violated("a box's track is there");
      tracker_.moved(found[i].number, frame.time + kStep);
    }
    if (tracker_.size() > Tracker::kMaxTracks) violated("tracks are bounded");
    return out;
  }

 private:
  TrackIds ids_;
  Tracker tracker_;
  std::map<uint64_t, uint64_t> kind_of_;
  int64_t time_ = 0;
  bool began_ = false;
};

}  // namespace

const char* const kSurface = "tracks";

void set_up() {}

void run_one(Input& input) {
  const TrackSettings settings = draw_settings(input);
  const std::vector<TimedFrame> frames = draw_frames(input);
  Checked one(settings), again(settings);
  for (const TimedFrame& frame : frames) {
    const auto ids = one.see(frame);
    if (ids != again.see(frame)) violated("the same frames give the same ids");
  }
  count("frames", frames.size());
}

}  // namespace keepbox::fuzz
