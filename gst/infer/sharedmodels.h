// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that are shared by several elements of a process.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/base/result.h"
#include "gst/infer/sessionspec.h"

namespace keepbox {

/// Keeps one object per spec while it is in use. Loading takes seconds, so concurrent callers wait
/// for the first load.
template <class Model>
class SharedModels {
 public:
  /// @param make a callable that returns Result<std::shared_ptr<Model>>.
  template <class Make>
  Result<std::shared_ptr<Model>> get(const SessionSpec& spec, Make make) {
    const std::shared_ptr<Entry> entry = entry_of(spec);
    const std::lock_guard guard(entry->lock);
    if (auto there = entry->model.lock()) return there;
    auto made = make();
    if (made) entry->model = *made;
    return made;
  }

 private:
  struct Entry {
    std::mutex lock;
    std::weak_ptr<Model> model;
  };

  std::shared_ptr<Entry> entry_of(const SessionSpec& spec) {
    const std::lock_guard guard(lock_);
    std::erase_if(entries_, [](const auto& each) {
      if (each.second.use_count() > 1) return false;
      const std::lock_guard last(each.second->lock);  // after the last user, which is gone
      return each.second->model.expired();
    });
    auto& entry = entries_[spec];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }

  std::mutex lock_;
  std::map<SessionSpec, std::shared_ptr<Entry>> entries_;
};

}  // namespace keepbox
