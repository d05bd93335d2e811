// SPDX-License-Identifier: LGPL-2.1-or-later
// Threads that claim parts of the work by a counter, as does the calling thread.
#include "core/base/threads.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace keepbox {
namespace {

class WorkerThreads : public ThreadPool {
 public:
  WorkerThreads() = default;
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  ~WorkerThreads() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    begin_.notify_all();
    for (uint32_t i = 1; i < size_; ++i) pthread_join(threads_[i], nullptr);
  }

  /// Adds a thread if one can be started.
  bool grow() {
    if (pthread_create(&threads_[size_], nullptr, work, this) != 0) return false;
    pthread_setname_np(threads_[size_], "keepbox-decode");
    ++size_;
    return true;
  }

  uint32_t size() const override { return size_; }

  void run(uint32_t parts, void (*part)(void*, uint32_t), void* context) override {
    std::unique_lock lock(mutex_);
    part_ = part;
    context_ = context;
    parts_ = left_ = parts;
    next_ = 0;
    begin_.notify_all();
    take_parts(lock);
    end_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  static void* work(void* data) {
    auto& self = *static_cast<WorkerThreads*>(data);
    std::unique_lock lock(self.mutex_);
    while (!self.ended_) {
      self.take_parts(lock);
      self.begin_.wait(lock, [&] { return self.ended_ || self.next_ < self.parts_; });
    }
    return nullptr;
  }

  /// Runs parts until all are taken. @pre the lock is held; it is held again on return.
  void take_parts(std::unique_lock<std::mutex>& lock) {
    while (next_ < parts_) {
      const uint32_t mine = next_++;
      lock.unlock();
      part_(context_, mine);
      lock.lock();
      if (--left_ == 0) end_.notify_one();
    }
  }

  pthread_t threads_[kMaxThreads];  // index 0 is the caller
  uint32_t size_ = 1;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  bool ended_ = false;
  void (*part_)(void*, uint32_t) = nullptr;  // these four change only while no part is running
  void* context_ = nullptr;
  uint32_t parts_ = 0, left_ = 0;
  uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<ThreadPool> make_worker_threads(uint32_t threads) {
  auto pool = std::make_unique<WorkerThreads>();
  while (pool->size() < std::min(threads, kMaxThreads) && pool->grow()) {
  }
  if (pool->size() == 1) return nullptr;
  return pool;
}

}  // namespace keepbox
