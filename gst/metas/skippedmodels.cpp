// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads the notes of models that did not look at a frame.
#include "gst/metas/skippedmodels.h"

#include <algorithm>
#include <utility>

#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"

namespace keepbox {

void note_skipped_frame(GstBuffer* buffer, SharedProvenance source) {
  note_skipped(buffer, std::move(source));
  add_wire_meta(buffer);
}

void note_skipped_model(GstBuffer* buffer, GQuark model) {
  add_skipped(relation_meta_for(buffer, 1, 0), model);
}

SkippedModels::SkippedModels(GstBuffer* buffer)
    : models_(Records(gst_buffer_get_analytics_relation_meta(buffer)).skipped()) {
  all_ = models_.empty() && was_skipped(buffer) && !was_looked_at(buffer);
}

bool SkippedModels::has(GQuark model) const {
  return all_ || std::ranges::contains(models_, model);
}

void SkippedModels::add(GQuark model) {
  if (!std::ranges::contains(models_, model)) models_.push_back(model);
}

SkippedModels ModelLooks::take(SkippedModels skipped, std::span<const FrameBox> boxes) {
  unknown_ = skipped.all() && (!began_ || !unseen_.empty());
  if (skipped.all()) return skipped;
  std::set<GQuark> found;
  for (const FrameBox& box : boxes)
    if (!box.held && !box.predicted) found.insert(box.model);
  const std::set<GQuark> noted(skipped.noted().begin(), skipped.noted().end());
  std::set<GQuark> there = noted;
  there.insert(found.begin(), found.end());

  const bool first = !std::exchange(began_, true);
  if (first) unseen_ = noted;
  std::erase_if(new_, [&](GQuark name) { return !noted.contains(name) || found.contains(name); });
  const size_t before = new_.size();
  for (const GQuark name : noted)
    if (!first && !known_.contains(name) && !found.contains(name)) new_.insert(name);
  if (new_.size() > before) gone_.insert(there_.begin(), there_.end());
  if (new_.empty()) gone_.clear();
  std::erase_if(gone_, [&](GQuark name) { return there.contains(name); });
  // A model that is not noted on a frame looked at it.
  std::erase_if(unseen_,
                [&](GQuark name) { return !noted.contains(name) && !gone_.contains(name); });
  unknown_ = !noted.empty() && (first || !unseen_.empty());
  known_.insert(there.begin(), there.end());
  there_ = std::move(there);
  for (const GQuark name : gone_) skipped.add(name);
  return skipped;
}

}  // namespace keepbox
