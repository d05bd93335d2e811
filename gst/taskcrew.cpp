// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs parts on a GstSharedTaskPool.
#include "gst/taskcrew.h"

#include <gst/gst.h>

#include <algorithm>

namespace keepbox {
namespace {

class TaskCrew : public Crew {
 public:
  explicit TaskCrew(uint32_t threads)
      : pool_(gst_shared_task_pool_new()), threads_(std::min(threads, kMaxCrew)) {
    gst_shared_task_pool_set_max_threads(GST_SHARED_TASK_POOL(pool_), threads_ - 1);
  }
  ~TaskCrew() override {
    if (ready_) gst_task_pool_cleanup(pool_);
    gst_object_unref(pool_);
  }
  TaskCrew(const TaskCrew&) = delete;
  TaskCrew& operator=(const TaskCrew&) = delete;

  bool prepare() {
    g_autoptr(GError) error = nullptr;
    gst_task_pool_prepare(pool_, &error);
    return ready_ = error == nullptr;
  }

  uint32_t size() const override { return threads_; }

  void run(uint32_t parts, void (*part)(void*, uint32_t), void* context) override {
    Task tasks[kMaxCrew];
    for (uint32_t i = 1; i < parts; ++i) {
      tasks[i] = {part, context, i, nullptr};
      g_autoptr(GError) error = nullptr;
      tasks[i].id = gst_task_pool_push(
          pool_, [](gpointer task) { static_cast<Task*>(task)->run(); }, &tasks[i], &error);
    }
    part(context, 0);
    for (uint32_t i = 1; i < parts; ++i) {
      if (tasks[i].id == nullptr) tasks[i].run();
      else gst_task_pool_join(pool_, tasks[i].id);
    }
  }

 private:
  struct Task {
    void (*part)(void*, uint32_t);
    void* context;
    uint32_t number;
    gpointer id;
    void run() const { part(context, number); }
  };

  GstTaskPool* pool_;
  uint32_t threads_;
  bool ready_ = false;
};

}  // namespace

std::unique_ptr<Crew> make_task_crew(uint32_t threads) {
  if (threads < 2) return nullptr;
  auto crew = std::make_unique<TaskCrew>(threads);
  if (!crew->prepare()) return nullptr;
  return crew;
}

}  // namespace keepbox
