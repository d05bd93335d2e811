// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines and zones at which objects are counted: their text form, and their geometry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"

namespace keepbox {

// Lines and zones as a user gives them. Coordinates are fractions of the frame if all of a line or
// zone are at most 1, otherwise pixels. Points may be outside of the frame.

inline bool operator==(Corner a, Corner b) { return a.x == b.x && a.y == b.y; }

/// Directions in which a line is crossed, seen from its first point to the second: as indices.
enum CrossingWay : uint8_t {
  kIn,   // from right to left
  kOut,  // from left to right
};

/// A line that objects cross.
struct CountLine {
  std::string name;
  std::array<Corner, 2> points{};
  std::array<std::string, 2> directions{"in", "out"};  // by CrossingWay
};

/// An area in which objects are: those inside of its corners by the even-odd rule.
struct CountZone {
  std::string name;
  std::vector<Corner> corners;
  std::optional<int64_t> dwell_alarm{};  // ns; unset: that of the settings
  std::optional<int32_t> crowd_alarm{};
};

struct CountShapes {
  std::vector<CountLine> lines;
  std::vector<CountZone> zones;

  /// The maximum number of lines and of zones, and of corners of a zone.
  static constexpr size_t kMax = 1000, kMaxCorners = 10'000;
};

/// Parses "gate=X1,Y1,X2,Y2;..." where names of the directions in and out may follow the numbers:
/// "gate=X1,Y1,X2,Y2,enter,leave". Errors name the line.
Result<std::vector<CountLine>> parse_lines(std::string_view text);
/// Parses "queue=X1,Y1,X2,Y2,X3,Y3...;...". Errors name the zone.
Result<std::vector<CountZone>> parse_zones(std::string_view text);

/// Fails for lines and zones that cannot be counted at: without a name or with that of another,
/// without length or area, with coordinates that are no pixels. Errors name the line or zone.
Status check_shapes(const CountShapes& shapes);

// Lines and zones in the pixels of a frame.
//
// A point is taken as if it were moved by (e, e^2) with an e that is smaller than any distance: it
// is never on a line, and a path through the common end of two lines crosses one of them.

/// A segment with the directions in which a path crosses it.
class LineSegment {
 public:
  LineSegment(Corner a, Corner b) : a_(a), b_(b) {}

  /// Returns on which side a point is.
  CrossingWay side(Corner p) const;
  /// True if a path between two points passes between the ends. The way is the side of `to`.
  bool is_crossed(Corner from, Corner to) const;
  /// True if a point is exactly on it, or on an end.
  bool has(Corner p) const { return distance(p) == 0; }
  double distance(Corner p) const;

  std::array<Corner, 2> ends() const { return {a_, b_}; }

 private:
  Corner a_, b_;
};

/// A polygon that contains points by the even-odd rule. Of polygons that share an edge, one
/// contains the points of the edge.
class ZoneArea {
 public:
  /// @param frame edges along its border are no edges for distance().
  explicit ZoneArea(std::vector<Corner> corners, Size frame = {});

  bool contains(Corner p) const;
  /// Returns the distance to the nearest edge; infinite if there is none.
  double distance(Corner p) const;
  /// Returns a distance that is not above distance(); 0 inside of the corners' upright box.
  double distance_from_bounds(Corner p) const;

  const std::vector<Corner>& corners() const { return corners_; }

 private:
  std::vector<Corner> corners_;
  std::vector<bool> border_;  // by corner: the edge to it is along the frame's border
  Corner low_, high_;
};

// Points and edges within a pixel of the frame's border count as on it, because objects are cut off
// there, and nothing beyond it can be seen.

LineSegment placed(const CountLine& line, Size frame);
ZoneArea placed(const CountZone& zone, Size frame);
/// Returns a point half a pixel inside of the frame, if it is not further inside.
Corner inside(Corner p, Size frame);

}  // namespace keepbox
