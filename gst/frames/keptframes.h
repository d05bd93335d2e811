// SPDX-License-Identifier: LGPL-2.1-or-later
// How many bytes of saved frames are on their way, and the wait until fewer are.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace keepbox {

/// Frames that are kept wherever their buffers go. May be used from any thread.
class KeptFrames : public std::enable_shared_from_this<KeptFrames> {
 public:
  static constexpr size_t kLeast = 4;  // frames of any size: elements between hold some back
  static constexpr uint64_t kUsual = uint64_t{1} << 28;  // bytes

  /// @param late how long none may come back before that is said
  explicit KeptFrames(std::chrono::milliseconds late = std::chrono::seconds(10)) : late_(late) {}

  /// Counts a frame for as long as what is returned is there. Waits while others leave it no room.
  /// @param late called when none of those comes back. Where it returns true, as many bytes as the
  ///        limit again are let through, and stay so until start() or set_limit(). Its argument is
  ///        true before the first such time.
  /// @return nullptr while set_stopped(true).
  std::shared_ptr<const void> keep(uint64_t bytes, const std::function<bool(bool first)>& late);

  /// Begins with the limit as it was set, and not stopped.
  void start();
  /// The most bytes; 0 is no limit.
  void set_limit(uint64_t bytes);
  uint64_t limit() const;
  /// Does nobody wait, and is nothing kept?
  void set_stopped(bool stopped);

 private:
  struct Place;
  bool has_room(uint64_t bytes) const {
    return limit_ == 0 || frames_ < kLeast ||
           bytes_ + bytes <= std::max(limit_, beyond_);
  }

  const std::chrono::milliseconds late_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t limit_ = kUsual, bytes_ = 0;
  uint64_t beyond_ = 0;  // the limit after frames were late
  size_t frames_ = 0;
  bool stopped_ = false;
};

}  // namespace keepbox
