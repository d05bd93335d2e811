// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks: values, edges and silhouettes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/formula/numeric.h"

namespace keepbox {

// Masks: their rules, their bits, and their enlargement to the resolution of the frame.

/// Maximum number of pixels of a prototype.
inline constexpr size_t kMaxMaskPixels = size_t{1} << 22;

/// Resolution of masks.
enum class MaskSize : uint8_t {
  kNone,        // no masks
  kPrototypes,  // that of the prototypes
  kFrame,       // that of the frame
};

/// Rules to compute masks.
struct MaskRules {
  Size maps;                  // size of the prototypes, pixels
  uint32_t coefficients = 0;  // per box, and number of prototypes; 0: no masks
  bool enlarged = false;      // to frame resolution; otherwise prototype resolution
  friend constexpr bool operator==(const MaskRules&, const MaskRules&) = default;
};

/// Number of pixels in a word of a mask's bits.
inline constexpr uint32_t kWordPixels = 32;

/// Rectangle of a box's mask, in pixels of the prototypes or of the frame. Its bits are rows of
/// 32-bit words: the pixel of column x is bit x % 32, so that a row may begin within a word. Bits
/// outside the rectangle are 0.
struct MaskRect {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t offset = 0;  // index of its first sum or word in the buffer of all masks

  KB_HD uint32_t count() const { return width * height; }
  KB_HD uint32_t first_word() const { return x / kWordPixels; }
  /// Returns the number of words per row.
  KB_HD uint32_t words() const {
    return width == 0 ? 0 : (x + width - 1) / kWordPixels - first_word() + 1;
  }
  KB_HD bool has_row(uint32_t row) const { return row >= y && row - y < height; }
  KB_HD bool has_column(uint32_t column) const { return column >= x && column - x < width; }
};

/// Pixels along an axis; pixels_between() returns the integers in [low, high) that are in [0, end).
struct PixelRange {
  uint32_t first, count;
};
KB_HD inline PixelRange pixels_between(float low, float high, uint32_t end) {
  const auto within = [&](float at) {
    const float inside = smaller(larger(at, 0.0f), static_cast<float>(end));
    const auto floor = static_cast<uint32_t>(inside);
    return floor + (static_cast<float>(floor) < inside ? 1 : 0);  // rounded up
  };
  const uint32_t first = within(low), last = within(high);
  return {first, last > first ? last - first : 0};
}

/// Returns the pixels of a picture whose top left corners are inside a box, without an offset.
KB_HD inline MaskRect covered_pixels(const Box& box, Size picture) {
  const PixelRange columns = pixels_between(box.x1, box.x2, picture.width);
  const PixelRange rows = pixels_between(box.y1, box.y2, picture.height);
  return {columns.first, rows.first, columns.count, rows.count};
}

/// Scale from model input pixels to prototype pixels.
struct MaskScale {
  float x, y;
};

/// Returns the rectangle of a box in the prototypes, without an offset. @param margin prototype
/// pixels around it.
KB_HD inline MaskRect prototype_pixels(const Box& on_frame, const Letterbox& letterbox,
                                       const MaskScale& scale, Size maps, float margin) {
  const Box box = letterbox.to_model(on_frame);
  return covered_pixels({box.x1 * scale.x - margin, box.y1 * scale.y - margin,
                         box.x2 * scale.x + margin, box.y2 * scale.y + margin},
                        maps);
}

/// Mask of a kept box. The words are borrowed.
struct Mask {
  const uint32_t* bits = nullptr;  // rows of `stride` words, least significant bit first
  uint32_t stride = 0;             // words per row
  uint32_t first = 0;              // bit of a row's first pixel, below kWordPixels
  uint32_t width = 0, height = 0;  // pixels; one of them is 0 if there is no mask
  Box place;                       // area covered by the pixels, in frame pixels

  const uint32_t* row(uint32_t y) const { return bits + size_t{y} * stride; }
  /// True if a pixel is inside the object. @pre x < width and y < height.
  bool at(uint32_t x, uint32_t y) const {
    return (row(y)[(first + x) / kWordPixels] >> (first + x) % kWordPixels & 1) != 0;
  }
};

/// Output buffers for masks, at the offsets of MaskRect; one of the two is set.
struct MaskOutput {
  uint32_t* bits = nullptr;  // 1 where the sum is positive, otherwise 0
  float* sums = nullptr;
};

/// Map from frame pixels to prototype pixels along an axis.
struct MaskAxis {
  float scale = 1, pad = 0;  // of the letterbox
  float per_model = 1;       // prototype pixels per model pixel
  uint32_t end = 1;          // prototype pixels
};

/// Bilinear interpolation along an axis: the two nearest sums, counted from the rectangle's first,
/// and the distance from the first of them, in [0, 1).
struct MaskTap {
  uint32_t low, high;
  float weight;
};

/// Returns the interpolation for the centre of a frame pixel. Sums outside of the rectangle count
/// as those at its edge. @param first, count the rectangle of the sums. @pre count > 0
KB_HD inline MaskTap tap_of(const MaskAxis& axis, uint32_t pixel, uint32_t first, uint32_t count) {
  const float centre = static_cast<float>(pixel) + 0.5f;
  const float at = Letterbox::on_model(centre, axis.scale, axis.pad) * axis.per_model - 0.5f;
  const float inside = smaller(larger(at, 0.0f), static_cast<float>(axis.end - 1));
  const uint32_t floor = static_cast<uint32_t>(inside), last = first + count - 1;
  const auto own = [&](uint32_t sum) {
    return (sum < first ? first : sum > last ? last : sum) - first;
  };
  return {own(floor), own(floor + 1), inside - static_cast<float>(floor)};
}

/// Interpolates between two sums.
KB_HD inline float lerp(float low, float high, float weight) { return low + (high - low) * weight; }

// Edges of a mask that is enlarged to a frame. Between the centres of its pixels the object ends
// half way, by bilinear interpolation of 0 and 1; a frame pixel belongs to the object if its centre
// does.

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

// Coverage of drawn silhouettes.

/// Maximum edge in pixels, to limit the time.
inline constexpr int kWidestEdge = 16;
/// Coverage of the object's pixels inside the edge, of 255; the edge has 255.
inline constexpr uint8_t kTintCover = 255 - 255 * 6 / 10;
/// Pixels by which smoothing exceeds the object.
inline constexpr int kSmoothingMargin = 1;

}  // namespace keepbox
