// SPDX-License-Identifier: LGPL-2.1-or-later
// Pipelines that come and go while others with the same model play.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace keepbox::soak {

/// Rounds of pipelines of different formats, with tiles, without, and with frames held back, whose
/// frames run in batches of two shared models. A paused pipeline keeps one of them loaded.
class Visits {
 public:
  /// Number of frames of a pipeline that plays to its end.
  static constexpr unsigned kFrames = 100;

  explicit Visits(std::string model);
  ~Visits();

  /// Loads the model. @return the error's text, or "".
  std::string load();
  /// Plays six pipelines, up to four at a time; one of them is stopped in the middle. @return the
  /// error's text, or "".
  std::string round();

  /// Returns the frames so far that had their boxes.
  uint64_t frames() const { return frames_; }

 private:
  class Visitor;
  std::unique_ptr<Visitor> come(unsigned frames);

  const std::string model_;
  unsigned number_ = 0;
  std::atomic<uint64_t> frames_ = 0;  // written by streaming threads
  std::unique_ptr<Visitor> keeper_;
};

}  // namespace keepbox::soak
