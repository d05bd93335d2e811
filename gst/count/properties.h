// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of boxcount.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/count/counter.h"
#include "gst/base/props.h"

namespace keepbox {

// The properties of boxcount.

/// The point of a box that is the place of its object.
enum class PlaceOfBox { kBottom, kCenter };

/// Property values as set. Plain data: copied under the object lock.
struct CountProps {
  std::string lines, zones, file;
  int point = static_cast<int>(PlaceOfBox::kBottom);
  gdouble band = CountSettings{}.band;
  gint64 lost_after = CountSettings{}.lost_after;  // ns
  gint64 dwell_alarm = -1;                         // ns; -1: none
  int crowd_alarm = -1;                            // -1: none
  std::string include_classes, model_name;

  bool operator==(const CountProps&) const = default;
};

const PropertyTable<CountProps>& count_properties();

/// Returns what the counter takes of the properties. @param interval of frames by the caps in ns; 0
/// if unknown.
CountSettings settings_of(const CountProps& props, int64_t interval);

/// Returns the lines and zones of the properties and their file. Errors name the line or zone.
Result<CountShapes> read_shapes(const CountProps& props);

// The counters behind boxcount's `stats` property.

/// Counts since the start. Plain data, guarded by its owner.
class CountStats {
 public:
  /// Adds a frame. @param boxes that were counted. @param time spent on it.
  void add(const Counter& counter, guint boxes, GstClockTime time);

  /// Returns the structure "boxcount-stats". Transfer full.
  GstStructure* structure() const;

 private:
  guint64 frames_ = 0, boxes_ = 0;
  guint objects_ = 0;
  GstClockTime time_ = 0;
  std::vector<std::string> line_names_, zone_names_;
  std::vector<LineTotals> lines_;
  std::vector<ZoneTotals> zones_;
};

}  // namespace keepbox
