// SPDX-License-Identifier: LGPL-2.1-or-later
// Remembers results by object and attribute.
#include "gst/classify/keptresults.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr guint64 kForgetAfterFrames = 1000;  // frames without the object

ObjectLabel* find_label(std::vector<ObjectLabel>& labels, guint od_id) {
  const auto found = std::ranges::lower_bound(labels, od_id, {}, &ObjectLabel::od_id);
  return found != labels.end() && found->od_id == od_id ? &*found : nullptr;
}

}  // namespace

void KeptResults::complete(std::span<const FrameBox> boxes, KeepResults keep, OfFrame& results) {
  ++frame_;
  prune();
  if (keep == KeepResults::kNone) return;
  OfFrame added;
  for (const FrameBox& box : boxes) {
    const auto object = key_of(box);
    if (!object) continue;
    Track& track = tracks_[*object];
    track.seen = frame_;
    for (auto& [attribute, labels] : results) {
      const ObjectLabel* found = find_label(labels, box.od_id);
      if (found == nullptr) continue;
      ObjectLabel& kept = track.labels[attribute];
      if (keep == KeepResults::kLast || found->level >= kept.level) kept = *found;
    }
    for (auto& [attribute, kept] : track.labels) {
      kept.od_id = box.od_id;
      if (ObjectLabel* found = find_label(results[attribute], box.od_id)) *found = kept;
      else added[attribute].push_back(kept);
    }
  }
  for (const auto& [attribute, labels] : added) {
    std::vector<ObjectLabel>& all = results[attribute];
    all.insert(all.end(), labels.begin(), labels.end());
    std::ranges::sort(all, {}, &ObjectLabel::od_id);
  }
}

void KeptResults::rename(const std::map<GQuark, GQuark>& attributes) {
  for (auto& [object, track] : tracks_) {
    std::map<GQuark, ObjectLabel> renamed;
    for (auto& [attribute, label] : track.labels) {
      const auto to = attributes.find(attribute);
      renamed.emplace(to != attributes.end() ? to->second : attribute, std::move(label));
    }
    track.labels = std::move(renamed);
  }
}

/// Drops objects that have not been seen for long, now and then.
void KeptResults::prune() {
  if (frame_ % kForgetAfterFrames != 0) return;
  std::erase_if(tracks_,
                [&](const auto& track) { return frame_ - track.second.seen > kForgetAfterFrames; });
}

}  // namespace keepbox
