// SPDX-License-Identifier: LGPL-2.1-or-later
// What the CPU benchmark times, and on what.
#pragma once

#include <string>
#include <vector>

#include "core/plan.h"
#include "tests/scene.h"

namespace keepbox::test {

inline constexpr size_t kTurns = 8;  // frames that are taken in turn
inline constexpr float kIou = 0.45f;
inline constexpr uint32_t kMost = 300;

enum class Kind {
  kPlanes,  // YOLOv8
  kRows,    // YOLOv5
  kReady,   // end to end: nothing to suppress
  kSsd,     // deltas and logits
  kBoxes,   // end-to-end rows that are suppressed: NMS alone
  kOther,   // what the peers here do not read
};

/// Frames of one kind, and what is asked of them.
struct Input {
  std::string name;
  Kind kind;
  Settings settings;
  std::vector<std::vector<Tensor>> frames;  // kTurns of them
  size_t candidates = 0;  // above the threshold, on average
  bool flushed = false;   // from all caches, before each run
};

/// 84x8400, 25200x85, 1x300x6, or 1917x4 with 1917x91: objects, false alarms and noise.
Input ordinary(Kind kind, float threshold, bool flushed);
/// The same in float16.
Input halved(Input input);
/// kPlanes or kRows with about so many candidates, ten an object.
Input crowded(Kind kind, size_t candidates);
/// Those of family_frames.h.
std::vector<Input> families();
/// So many boxes of one class, all over a picture of 1,100 x 1,100.
Input boxes(size_t count);
/// 84x33600: an input of 1,280 x 1,280.
Input large();

struct Timing {
  std::string contender;
  double p50 = 0, p99 = 0;  // microseconds a frame
  size_t boxes = 0;
};

/// Reading the frame's bytes and nothing else.
Timing time_read(const Input& input);
/// A backend, for the best instruction set or for each that the machine has.
std::vector<Timing> time_backend(const Input& input, std::string_view name, bool each_target);
/// What people write by hand: a loop over anchors and classes, then OpenCV's NMS.
std::vector<Timing> time_opencv(const Input& input);
/// boxdecode with so many threads, identity, and GStreamer's own decoder where it is and fits:
/// under a harness, with a new buffer each time.
std::vector<Timing> time_elements(const Input& input, const std::vector<int>& threads = {1});

}  // namespace keepbox::test
