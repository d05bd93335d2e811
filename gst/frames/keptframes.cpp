// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and waits.
#include "gst/frames/keptframes.h"

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

void combine(GstQuery* query, const Allocation& a, const Allocation& b) {
  for (guint i = 0; i < gst_query_get_n_allocation_metas(a.query); ++i) {
    const GstStructure* params = nullptr;
    const GType api = gst_query_parse_nth_allocation_meta(a.query, i, &params);
    if (gst_query_find_allocation_meta(b.query, api, nullptr))
      gst_query_add_allocation_meta(query, api, params);
  }
  GstAllocationParams params = a.params();
  const GstAllocationParams other = b.params();
  params.align = std::max(params.align, other.align);
  params.prefix = std::max(params.prefix, other.prefix);
  params.padding = std::max(params.padding, other.padding);
  gst_query_add_allocation_param(query, nullptr, &params);
  const auto [size, min_buffers] = a.pool();
  const auto [other_size, other_min] = b.pool();
  gst_query_add_allocation_pool(query, nullptr, std::max(size, other_size),
                                min_buffers + other_min + 1, 0);
}

}  // namespace keepbox
