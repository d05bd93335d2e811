// SPDX-License-Identifier: LGPL-2.1-or-later
// Subjects and inputs of the CPU benchmark.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "tests/scene.h"

namespace keepbox::test {

inline constexpr size_t kTurns = 8;  // frames used in turn
inline constexpr float kIou = 0.45f;
inline constexpr uint32_t kMax = 300;

enum class Kind {
  kPlanes,  // YOLOv8
  kRows,    // YOLOv5
  kReady,   // end-to-end: no NMS
  kSsd,     // deltas and logits
  kBoxes,   // end-to-end rows with NMS: NMS only
  kOther,   // families that the peers do not support
};

/// Frames of one kind, and their settings.
struct Input {
  std::string name;
  Kind kind;
  Settings settings;
  std::vector<std::vector<Tensor>> frames;  // kTurns frames
  size_t candidates = 0;                    // above the threshold, on average
  bool flushed = false;                     // from all caches, before each run
};

/// Returns 84x8400, 25200x85, 1x300x6, or 1917x4 with 1917x91: objects, false alarms and noise.
Input ordinary(Kind kind, float threshold, bool flushed);
/// Returns the input in float16.
Input halved(Input input);
/// Returns kPlanes or kRows with about that many candidates, ten per object.
Input crowded(Kind kind, size_t candidates);
/// Returns the inputs of family_frames.h.
std::vector<Input> families();
/// Returns `count` boxes of one class, all over a picture of 1100x1100.
Input boxes(size_t count);
/// Returns 84x33600, for a 1280x1280 input.
Input large();

struct Timing {
  std::string contender;
  double p50 = 0, p99 = 0;  // microseconds per frame
  size_t boxes = 0;
};

/// Times reading the bytes of a frame.
Timing time_read(const Input& input);
/// Times a backend, with the best instruction set or with each available one.
std::vector<Timing> time_backend(const Input& input, std::string_view name, bool each_target);
/// Times a typical manual implementation: a loop over anchors and classes, then OpenCV's NMS.
std::vector<Timing> time_opencv(const Input& input);
/// Times boxdecode with those numbers of threads, identity, and GStreamer's own decoder if it is
/// available and fits: in a harness, with a new buffer each time.
std::vector<Timing> time_elements(const Input& input, const std::vector<int>& threads = {1});

}  // namespace keepbox::test
