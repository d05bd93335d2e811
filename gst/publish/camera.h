// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of a camera: whether it delivers frames.
#pragma once

#include <atomic>
#include <chrono>

namespace keepbox {

/// Whether frames arrive. From any thread.
class Camera {
 public:
  enum class State {
    kOffline,  // before the first frame, and after the end of the stream
    kOnline,
    kStalled,  // no frame for the timeout
  };

  explicit Camera(std::chrono::milliseconds timeout) : timeout_(timeout), last_(now()) {}

  /// Notes that a frame arrived.
  void frame() {
    last_ = now();
    online_ = true;
    ended_ = false;
  }
  /// Notes the end of the stream.
  void end() {
    online_ = false;
    ended_ = true;
  }

  State state() const {
    if (ended_) return State::kOffline;
    if (now() - last_ > Clock::duration(timeout_).count()) return State::kStalled;
    return online_ ? State::kOnline : State::kOffline;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }

  const std::chrono::milliseconds timeout_;
  std::atomic<Clock::rep> last_;  // time of a frame, or of the start
  std::atomic<bool> online_ = false, ended_ = false;
};

}  // namespace keepbox
