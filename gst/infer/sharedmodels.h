// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that are shared by several elements of a process.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "gst/infer/onnx/onnxsession.h"

namespace keepbox {

/// Keeps one object per spec while it is in use. Loading takes seconds, so concurrent callers wait
/// for the first load.
template <class Model>
class SharedModels {
 public:
  /// @param make a callable that returns Result<std::shared_ptr<Model>>.
  template <class Make>
  Result<std::shared_ptr<Model>> get(const SessionSpec& spec, Make make) {
    const std::shared_ptr<Place> place = place_of(spec);
    const std::lock_guard guard(place->lock);
    if (auto there = place->model.lock()) return there;
    auto made = make();
    if (made) place->model = *made;
    return made;
  }

 private:
  struct Place {
    std::mutex lock;
    std::weak_ptr<Model> model;
  };

  std::shared_ptr<Place> place_of(const SessionSpec& spec) {
    const std::lock_guard guard(lock_);
    std::erase_if(places_, [](const auto& each) {
      if (each.second.use_count() > 1) return false;
      const std::lock_guard last(each.second->lock);  // behind the last user, which is gone
      return each.second->model.expired();
    });
    auto& place = places_[spec];
    if (!place) place = std::make_shared<Place>();
    return place;
  }

  std::mutex lock_;
  std::map<SessionSpec, std::shared_ptr<Place>> places_;
};

}  // namespace keepbox
