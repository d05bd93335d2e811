// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the threads that run in the background, so that exit() waits for them.
#include "gst/infer/background.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

namespace keepbox {
namespace {

/// The threads that have not ended. Never destroyed, because they use it.
struct Running {
  std::mutex lock;
  std::condition_variable changed;
  unsigned threads = 0;
  const pid_t process = getpid();

  void add(int change) {
    const std::lock_guard guard(lock);
    threads += static_cast<unsigned>(change);
    changed.notify_all();
  }
};

Running& running() {
  static auto& only = *new Running;
  return only;
}

/// Called before the destructors of libraries that were loaded before the first thread began. A
/// forked child has none of the threads, and would wait for ever.
void wait_for_all() {
  if (getpid() != running().process) return;
  std::unique_lock lock(running().lock);
  running().changed.wait(lock, [] { return running().threads == 0; });
}

}  // namespace

struct BackgroundThread::Shared {
  std::mutex lock;
  std::condition_variable changed;
  std::string failure;
  bool done = false, interrupted = false, left = false;
};

BackgroundThread::BackgroundThread(std::function<std::string()> work)
    : shared_(std::make_shared<Shared>()) {
  [[maybe_unused]] static const int registered = std::atexit(wait_for_all);
  running().add(1);
  std::thread([work = std::move(work), shared = shared_]() mutable {
    std::string failure = work();
    {
      const std::lock_guard guard(shared->lock);
      shared->failure = std::move(failure);
      shared->done = true;
    }
    shared->changed.notify_all();
    work = nullptr;  // with a result that was left
    shared.reset();
    running().add(-1);
  }).detach();
}

bool BackgroundThread::wait() const {
  std::unique_lock lock(shared_->lock);
  shared_->changed.wait(lock, [&] { return shared_->done || shared_->interrupted; });
  return shared_->done;
}

void BackgroundThread::interrupt(bool on) const {
  const std::lock_guard guard(shared_->lock);
  shared_->interrupted = on;
  shared_->changed.notify_all();
}

std::optional<std::string> BackgroundThread::end() const {
  std::unique_lock lock(shared_->lock);
  shared_->changed.wait(lock, [&] { return shared_->done || shared_->left; });
  return shared_->done ? std::optional(shared_->failure) : std::nullopt;
}

void BackgroundThread::leave() const {
  const std::lock_guard guard(shared_->lock);
  shared_->left = true;
  shared_->changed.notify_all();
}

}  // namespace keepbox
