// SPDX-License-Identifier: LGPL-2.1-or-later
// Templates of Tracker that its sources share.
#pragma once

#include "core/track/tracker.h"

namespace keepbox {

/// Collects tracks as rows and boxes without a track as columns, and returns their overlaps.
/// @param has_track true for the tracks to match. @param box_of returns the box of a track.
std::span<const Overlap> Tracker::collect(const auto& has_track, const auto& box_of, Use use) {
  rows_.clear();
  cols_.clear();
  row_boxes_.clear();
  col_boxes_.clear();
  pairs_.clear();
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].box != kUnmatched || !has_track(tracks_[i])) continue;
    rows_.push_back(i);
    row_boxes_.push_back({box_of(tracks_[i]), tracks_[i].kind});
  }
  for (uint32_t i = 0; i < boxes_.size(); ++i) {
    if (use_[i] != use) continue;
    cols_.push_back(i);
    col_boxes_.push_back({boxes_[i].box, boxes_[i].kind});
  }
  if (rows_.empty() || cols_.empty()) return {};
  return overlaps_.find(row_boxes_, col_boxes_);
}

/// Removes the tracks for which `ended` returns true.
void Tracker::erase(const auto& ended) { std::erase_if(tracks_, ended); }

}  // namespace keepbox
