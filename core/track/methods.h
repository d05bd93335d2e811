// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracking methods as a table: name, summary, and published parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/track/track.h"

namespace keepbox {

enum class TrackMethod : uint8_t { kByteTrack, kSort, kOcSort };

/// Parameters of a method.
struct TrackParams {
  float high_threshold = 0;    // scores above it are matched first
  float low_threshold = 0;     // kByteTrack: scores above it are matched with what is left
  float new_threshold = 0;     // minimum score of a box that starts a track
  float match_iou = 0;         // minimum overlap in the first matching
  bool recover_lost = false;   // kByteTrack: low scores continue lost tracks too
  uint32_t confirm_after = 0;  // matches in a row, after the first box, before a track counts
  int64_t lost_after = 0;      // ns without a match after which a track ends; 0: two misses
};

struct TrackMethodRow {
  TrackMethod method;
  std::string_view name, summary;
  MotionModel motion;
  TrackParams published;
};

/// Returns all methods, in the order of the enum.
std::span<const TrackMethodRow> track_methods();
inline const TrackMethodRow& row_of(TrackMethod method) {
  return track_methods()[static_cast<size_t>(method)];
}

}  // namespace keepbox
