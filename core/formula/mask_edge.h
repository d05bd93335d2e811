// SPDX-License-Identifier: LGPL-2.1-or-later
// Edges of a mask that is enlarged to a frame. Between the centres of its pixels the object ends
// half way, by bilinear interpolation of 0 and 1; a frame pixel belongs to the object if its centre
// does.
#pragma once

#include "core/formula/numeric.h"

namespace keepbox {

/// An axis of a mask and of the frame.
struct MaskSide {
  double low = 0, step = 1;  // start of the area; frame pixels per mask pixel
  int count = 0;             // mask pixels
  int first = 0, last = 0;   // the frame pixels whose centres are in the area, without the last

  /// Returns the position of the centre of a mask pixel on the frame.
  KB_HD double centre(double pixel) const { return low + (pixel + 0.5) * step; }
  /// Returns the position of the centre of a frame pixel on the mask; 0 is the centre of the first.
  KB_HD double on_mask(int pixel) const { return (pixel + 0.5 - low) / step - 0.5; }
};

/// Two lines of a mask between which a line of the frame is.
struct MaskLines {
  int above = 0;     // the first of them; the second is the next one, or the same at the end
  double share = 0;  // of the second, from 0 to 1

  /// Returns the level of a column. @param both bit 1 is its pixel in the first line, bit 0 that in
  /// the second one.
  KB_HD double level(int both) const {
    return both == 3 ? 1 : both == 2 ? 1 - share : both == 1 ? share : 0;
  }
  KB_HD bool inside(int both) const { return level(both) >= 0.5; }
};

/// Returns the lines around a line of the frame. @pre it is in the area.
KB_HD inline MaskLines lines_at(const MaskSide& down, int line) {
  const double at = down.on_mask(line), end = down.count - 1;
  const double within = at < 0 ? 0 : at > end ? end : at;
  const int above = static_cast<int>(within);
  return {above, within - above};
}

/// Returns the first frame pixel after the edge between a mask pixel and the next one.
/// @pre one of the two levels is at least 1/2, and one of them is below.
KB_HD inline int crossing(const MaskSide& along, int pixel, double here, double next) {
  const double edge = along.centre(pixel + (here - 0.5) / (here - next)) - 0.5;
  const double low = along.first, high = along.last;
  const double within = edge < low ? low : edge > high ? high : edge;
  const int floor = static_cast<int>(within);
  return floor + (within > floor ? 1 : 0);
}

/// Returns the last mask pixel whose centre is before a frame pixel's; -1 before the first.
/// @pre the frame pixel is in the area.
KB_HD inline int pixel_before(const MaskSide& along, int pixel) {
  return static_cast<int>(along.on_mask(pixel) + 1) - 1;  // rounded down
}

/// True if a pixel of a line belongs to the object. Only edges near it decide.
/// @param before is pixel_before(). @param both returns the pixels of a column in the two lines, as
/// for MaskLines. @pre the pixel is in the area.
template <class Both>
KB_HD bool is_inside(const MaskSide& along, const MaskLines& lines, int pixel, int before,
                     const Both& both) {
  const int last = along.count - 1;
  const int low = before < 1 ? 1 : before > last ? last : before;
  int i = before + 2 < last ? before + 2 : last;
  int now = both(i);
  for (; i >= low && i > 0; --i) {
    const int next = both(i - 1);
    const bool is = lines.inside(now);
    if (is != lines.inside(next) &&
        crossing(along, i - 1, lines.level(next), lines.level(now)) <= pixel)
      return is;
    now = next;
  }
  return lines.inside(now);
}

}  // namespace keepbox
