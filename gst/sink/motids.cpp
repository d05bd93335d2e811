// SPDX-License-Identifier: LGPL-2.1-or-later
// Notices ids that two models have, without remembering all of them.
#include "gst/sink/motids.h"

#include <algorithm>
#include <string>

#include "gst/base/error.h"
#include "gst/sink/text.h"

namespace keepbox {

void MotIds::start_frame() {
  on_this_frame_.clear();
  for (Model& model : models_) model.newest_before = model.newest;
}

MotIds::Model& MotIds::model_of(GQuark name) {
  const auto found = std::ranges::find(models_, name, &Model::name);
  return found != models_.end() ? *found : models_.emplace_back(Model{.name = name});
}

/// True if another model has that id. A tracker of both models would have given a new id that is
/// higher than all of earlier frames.
bool MotIds::is_of_another(const Model& model, guint64 id) const {
  const auto found = on_this_frame_.find(id);
  if (found != on_this_frame_.end() && found->second != model.name) return true;
  if (model.newest && id <= *model.newest) return false;
  return std::ranges::any_of(models_, [&](const Model& other) {
    return &other != &model && !other.raised_from && other.newest_before &&
           id <= *other.newest_before;
  });
}

void MotIds::raise(Model& model, guint64 from) {
  model.raised_from = from;
  model.raise = ++raised_ * kStep;
  warning_ = problem(ErrorKind::kMismatch,
                     "Objects of several models have the same ids, and MOTChallenge files have no "
                     "column for the model: ids of the model \"" +
                         name_of(model.name) + "\" are raised by " + std::to_string(model.raise),
                     "use one boxtrack after all decoders, whose ids differ");
}

guint64 MotIds::of(const ObjectKey& object) {
  Model& model = model_of(object.model);
  if (!model.raised_from) {
    if (is_of_another(model, object.id)) raise(model, object.id);
    else on_this_frame_.emplace(object.id, object.model);
  }
  model.newest = std::max(model.newest.value_or(0), object.id);
  const bool raised = model.raised_from && object.id >= *model.raised_from;
  return raised ? object.id + model.raise : object.id;
}

}  // namespace keepbox
