// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of a frame's lines and zones: totals so far, and what happened up to this frame.
//
// They are a meta of ours that other elements ignore. Copies and tees share them, scalers and crops
// move their points with the picture, and they reach other processes with the boxes (wire.h).
#pragma once

#include <gst/gst.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formula/box.h"
#include "gst/metas/boxes.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// Numbers of the two directions of a line: in and out, which may have other names.
using ByDirection = std::array<guint64, 2>;

/// A line, and how many objects crossed it.
struct LineCount {
  std::string name;
  std::array<Corner, 2> points{};  // pixels of the frame, possibly outside of it. Seen from the
                                   // first to the second, in is from right to left
  std::array<std::string, 2> directions{"in", "out"};
  ByDirection crossed{};
  ByDirection uncertain{};  // new objects beyond the line where another one was lost before it; not
                            // part of `crossed`
};

/// An object in a zone.
struct PresentObject {
  ObjectKey object;
  GQuark label = 0;        // its class; 0 if unknown
  GstClockTime since = 0;  // running time at which its visit began, in the process that counted
  GstClockTime dwell = 0;  // ns of the visit so far
  bool alarmed = false;    // dwell has reached dwell-alarm
};

/// A zone, and the objects that are and were in it.
struct ZoneCount {
  std::string name;
  std::vector<Corner> corners{};         // pixels of the frame, possibly outside of it
  std::vector<PresentObject> present{};  // in the order in which they came
  guint64 visits = 0;                    // so far, with those of present objects
  GstClockTime mean = 0, longest = 0;    // ns of visits so far
  bool crowded = false;                  // there are more objects than crowd-alarm

  /// Returns the number of objects that are in it.
  guint now() const { return static_cast<guint>(present.size()); }
};

/// An event at a line or in a zone.
struct CountNote {
  enum class Kind : guint8 { kCrossed, kUncertain, kEntered, kLeft, kDwelt, kCrowded };

  Kind kind = Kind::kCrossed;
  std::string name;         // of the line or zone
  std::string direction{};  // of kCrossed and kUncertain: its name
  ObjectKey object{};       // of kCrowded: none, with id 0
  bool unnamed = false;     // the object's model is the decoder's own name (FrameBox::unnamed)
  GQuark label = 0;         // its class; 0 if unknown
  GstClockTime ago = 0;     // ns between it and the frame
  GstClockTime dwell = 0;   // of kLeft and kDwelt: ns of the visit
  guint now = 0;            // of zones: number of objects in it afterwards
};
/// Returns the word of a kind, such as "crossed".
const char* word_of(CountNote::Kind kind);

struct FrameCounts {
  std::vector<LineCount> lines;
  std::vector<ZoneCount> zones;
  std::vector<CountNote> notes;  // in the order in which they became known

  bool empty() const { return lines.empty() && zones.empty() && notes.empty(); }
};

/// Adds counts to those of a frame, which an earlier element may have counted.
/// @param buffer writable.
void attach_counts(GstBuffer* buffer, FrameCounts counts);

/// Returns the counts of a frame, valid as long as its metas do not change; nullptr if there are
/// none.
const FrameCounts* counts_of(GstBuffer* buffer);

/// True for the meta of counts.
bool is_counts(GType api);

/// Returns a serialized event with what happened after the last frame, as at the end of a stream:
/// `ago` is before that frame. For elements of this process.
GstEvent* counts_event(const FrameCounts& counts);
/// Returns the counts of such an event; std::nullopt for other events.
std::optional<FrameCounts> counts_of_event(GstEvent* event);

/// Returns the counts with points moved to another picture. A line that is mirrored has its ends
/// exchanged, so that its directions stay.
FrameCounts moved_counts(const FrameCounts& counts, const PixelMap& map);

/// Carries counts from a copy of a frame, whose picture was changed, back to the frame, mapped:
/// those that were added since. @param map from the pixels of `from` to those of `to`.
void carry_counts(GstBuffer* from, GstBuffer* to, const PixelMap& map);

}  // namespace keepbox
