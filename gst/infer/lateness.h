// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds frames that a sink would show too late, from its QoS events.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <atomic>

namespace keepbox {

/// One stream. Events and queries come from other threads than frames.
class Lateness {
 public:
  /// Takes a QoS event from downstream.
  void take(GstEvent* event) {
    GstClockTimeDiff late = 0;
    GstClockTime at = 0;
    gst_event_parse_qos(event, nullptr, nullptr, &late, &at);
    if (!GST_CLOCK_TIME_IS_VALID(at) || at < ignored_until_) return;
    // A late frame takes as long again to catch up with, as in GstVideoDecoder.
    earliest_ = late > 0 ? at + 2 * static_cast<GstClockTime>(late)
                         : at - std::min(at, static_cast<GstClockTime>(-late));
  }
  /// Takes the answer to a latency query: frames of a file are never too late.
  void set_live(bool live) { live_ = live; }
  void reset() { earliest_ = ignored_until_ = 0; }
  /// Ignores that frames before a running time are late, because they waited for the model.
  void ignore_until(GstClockTime until) {
    ignored_until_ = until;
    earliest_ = 0;
  }

  /// True if a frame of a live source will be late. @param running its running time.
  bool is_late(GstClockTime running) const {
    return live_ && GST_CLOCK_TIME_IS_VALID(running) && running < earliest_;
  }

 private:
  std::atomic<bool> live_ = false;
  std::atomic<GstClockTime> earliest_ = 0, ignored_until_ = 0;
};

/// Returns when a frame is due, by the clock that elements of a pipeline share; now if that is
/// unknown.
inline GstClockTime due_time(GstElement* element, GstClockTime running) {
  const GstClockTime start = gst_element_get_base_time(element);
  return GST_CLOCK_TIME_IS_VALID(running) && GST_CLOCK_TIME_IS_VALID(start)
             ? start + running
             : gst_util_get_timestamp();
}

}  // namespace keepbox
