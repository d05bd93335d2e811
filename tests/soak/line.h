// SPDX-License-Identifier: LGPL-2.1-or-later
// The pipeline under test: small frames through all of the plugin except inference.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace keepbox::soak {

/// Writes tensors of a few frames with up to a dozen boxes, for a model with keypoints and one with
/// masks.
void write_tensors(const std::string& folder);

class Line {
 public:
  /// @param folder filled by write_tensors(). @param location of the boxes.
  Line(const std::string& folder, uint64_t frames, const std::string& location);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();

  /// Sets a function called in the streaming thread with the number of each frame at the end.
  void each(std::function<void(uint64_t)> frame) { frame_ = std::move(frame); }

  /// Plays to the end and stops. @return the error's text, or "".
  std::string play();

  /// Starts, and stops while frames are in flight. @return the error's text, or "".
  std::string cut(const std::string& location);

  /// Returns the number of frames at the end.
  uint64_t frames() const { return count_; }

 private:
  static GstPadProbeReturn on_frame(GstPad* pad, GstPadProbeInfo* info, gpointer line);
  std::string await(GstMessageType what);

  GstElement* pipeline_;
  GstBus* bus_;
  std::function<void(uint64_t)> frame_;
  std::atomic<uint64_t> count_ = 0;  // written by the streaming thread
};

}  // namespace keepbox::soak
