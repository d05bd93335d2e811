// SPDX-License-Identifier: LGPL-2.1-or-later
// Times of one stream's frames.
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tests/bench/infer/infer.h"
#include "tests/bench/infer/infer_stats.h"

namespace keepbox::test {

using Clock = std::chrono::steady_clock;

struct Unref {
  void operator()(gpointer object) const { gst_object_unref(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Unref>;

/// A stream of a pipeline. Each function is called as a frame passes a pad.
struct Stream {
  void enter(GstBuffer* buffer);
  void reach_model(GstBuffer* buffer);
  void leave_model();
  /// @param sampled every how many frames the elements' own times are taken.
  void leave(GstBuffer* buffer, size_t sampled);

  int number = 0;
  int arrived = 0;  // at the gate
  Owned<GstElement> infer, boxes;
  std::mutex lock;  // protects the following members
  std::map<GstClockTime, Clock::time_point> entered;
  std::vector<double> times;
  std::vector<Clock::time_point> late;  // when late frames left
  Clock::time_point to_model, last;
  std::vector<double> before, in_infer;  // from entry to the inference element; between its pads
  Samples samples;
};

/// Returns the figures of frames, without those of counters.
/// @param start of the measurement. @param seconds its duration, up to the last frame.
Figures figures_of(std::span<const Stream> streams, Clock::time_point start, double& seconds);

}  // namespace keepbox::test
