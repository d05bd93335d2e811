// SPDX-License-Identifier: LGPL-2.1-or-later
// Pipelines that share a model and are restarted while others continue.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace keepbox::soak {

/// One pipeline from frames through a model to boxes, which are dropped.
class Stream {
 public:
  Stream(const std::string& model, size_t number);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  /// Plays from the beginning until a frame has its boxes. @return the error's text, or "".
  std::string start();
  void pause() { gst_element_set_state(pipeline_, GST_STATE_PAUSED); }
  void stop() { gst_element_set_state(pipeline_, GST_STATE_NULL); }

 private:
  static GstPadProbeReturn on_frame(GstPad* pad, GstPadProbeInfo* info, gpointer stream);

  GstElement* pipeline_;
  GstBus* bus_;
  std::atomic<uint64_t> frames_ = 0;  // written by the streaming thread
};

/// Several streams with one model, which another, paused pipeline keeps loaded.
class Streams {
 public:
  static constexpr size_t kStreams = 4, kRestarts = 2 * kStreams;

  explicit Streams(const std::string& model);

  /// Loads the model. @return the error's text, or "".
  std::string load();

  /// Starts all, restarts each while the others play, and stops all. @return the error's text, or
  /// "".
  std::string cycle();

 private:
  Stream keeper_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace keepbox::soak
