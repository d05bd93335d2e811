// SPDX-License-Identifier: LGPL-2.1-or-later
// Colours of boxes, and trails of tracks.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "gst/metas/boxes.h"

namespace keepbox {

// The colours of boxes.

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
  friend constexpr bool operator==(Rgb, Rgb) = default;
};

/// Returns the colour 0xRRGGBB; higher bits are ignored.
constexpr Rgb rgb(uint32_t code) {
  return {uint8_t(code >> 16), uint8_t(code >> 8), uint8_t(code)};
}

/// The colours by number. Any two neighbours, last and first included, and any two of the first
/// eight can be told apart with every kind of colour vision.
std::span<const Rgb> palette();

/// The colour of boxes without a tracking id if colours are by tracking id; not in the palette.
constexpr Rgb kUntracked{160, 160, 160};

/// Returns a number for a class that has only a name: a hash that is the same in every run and
/// build.
uint32_t number_of(std::string_view label);

/// Returns black or white, whichever has more contrast with the background (WCAG 2).
Rgb text_color(Rgb background);

enum class ColorBy { kClass, kTrackingId, kModel };
GType color_by_type();

/// Chooses the colours of boxes, and remembers the models.
class Colors {
 public:
  /// Returns a box's colour. By class and by tracking id, each model starts at a different position
  /// of the palette, the first one at its beginning.
  Rgb of(const FrameBox& box, ColorBy by);

 private:
  uint32_t number_of_model(GQuark model);

  std::vector<GQuark> models_;  // in order of appearance
};

// The ways that tracked objects have taken.

/// A point of a trail in frame pixels.
struct TrailPoint {
  float x = 0, y = 0;
};

/// Remembers the centres of boxes with a tracking id for a time.
class Trails {
 public:
  /// The maximum number of points per trail, and of trails; older ones are forgotten.
  static constexpr size_t kMaxPoints = 1000, kMaxTrails = 4096;

  /// Adds a frame's boxes, and forgets what is older than `length` or later than the frame, as
  /// after a seek. @param time of the frame; GST_CLOCK_TIME_NONE: nothing is added.
  void add(std::span<const FrameBox> boxes, GstClockTime time, GstClockTime length);
  void clear() { trails_.clear(); }

  /// Returns the points of a box's object, the oldest first; empty for boxes without an
  /// id.
  std::vector<TrailPoint> of(const FrameBox& box) const;

 private:
  struct Entry {
    GstClockTime time;
    TrailPoint at;
  };
  void forget(GstClockTime time, GstClockTime length);

  std::map<ObjectKey, std::deque<Entry>> trails_;
};

}  // namespace keepbox
