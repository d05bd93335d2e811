// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and waits.
#include "gst/frames/keptframes.h"

#include <algorithm>
#include <utility>

namespace keepbox {

/// A kept frame's bytes. May outlive the element, because buffers do.
struct KeptFrames::Slot {
  Slot(std::shared_ptr<KeptFrames> in, uint64_t bytes) : all(std::move(in)), size(bytes) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    const std::lock_guard lock(all->mutex_);
    all->bytes_ -= size;
    --all->frames_;
    all->changed_.notify_all();
  }

  std::shared_ptr<KeptFrames> all;
  uint64_t size;
};

std::shared_ptr<const void> KeptFrames::keep(uint64_t bytes,
                                             const std::function<bool(bool first)>& late) {
  std::unique_lock lock(mutex_);
  while (!stopped_ && !has_room(bytes)) {
    if (changed_.wait_for(lock, late_) == std::cv_status::no_timeout) continue;
    const bool first = raised_limit_ == 0;
    lock.unlock();
    const bool more = late(first);
    lock.lock();
    if (more) raised_limit_ = bytes_ + std::max(limit_, bytes * kMinFrames);
  }
  if (stopped_) return nullptr;
  bytes_ += bytes;
  ++frames_;
  lock.unlock();
  return std::make_shared<const Slot>(shared_from_this(), bytes);
}

void KeptFrames::set_limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  raised_limit_ = 0;
  changed_.notify_all();
}

uint64_t KeptFrames::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void KeptFrames::start() {
  const std::lock_guard lock(mutex_);
  raised_limit_ = 0;
  stopped_ = false;
}

void KeptFrames::set_stopped(bool stopped) {
  const std::lock_guard lock(mutex_);
  stopped_ = stopped;
  changed_.notify_all();
}

}  // namespace keepbox
