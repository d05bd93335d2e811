// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of objects in MOTChallenge files, which have no column for the model.
#pragma once

#include <gst/gst.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/objectkey.h"

namespace keepbox {

/// Gives the objects of a stream different numbers: their ids, as long as these differ. Ids of a
/// model that has those of another one, as from a tracker of its own, are raised by kStep or a
/// multiple of it. Trackers are expected to count upwards.
class MotIds {
 public:
  static constexpr guint64 kStep = 1'000'000;

  /// Begins the next frame.
  void start_frame();
  /// Returns the number of an object on the frame.
  guint64 of(const ObjectKey& object);
  /// Returns a warning that ids were raised, once per model.
  std::optional<Error> take_warning() { return std::exchange(warning_, std::nullopt); }

 private:
  struct Model {
    GQuark name = 0;
    std::optional<guint64> newest{}, newest_before{};  // highest id so far, and before this frame
    std::optional<guint64> raised_from{};              // ids from there on are raised
    guint64 raise = 0;
  };
  Model& model_of(GQuark name);
  bool is_of_another(const Model& model, guint64 id) const;
  void raise(Model& model, guint64 from);

  std::vector<Model> models_;                // in order of appearance
  std::map<guint64, GQuark> on_this_frame_;  // models of ids
  guint64 raised_ = 0;                       // number of models
  std::optional<Error> warning_;
};

}  // namespace keepbox
