// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles: overlapping parts of a frame that a model sees as pictures of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/plan/input.h"

namespace keepbox {

inline constexpr uint32_t kMaxTiles = 64;  // of a frame

/// A part of the frame that is one image of a batch.
struct Tile {
  Letterbox letterbox;  // between the whole frame and the model input
  Box area;             // the part that the input shows, in frame pixels
  friend constexpr bool operator==(const Tile&, const Tile&) = default;
};

/// Returns the tile of a picture that the frame was scaled and moved to: x' = x * scale_x + dx, and
/// likewise for y. @pre scales are positive.
Tile moved(const Tile& from, Size to, double scale_x, double scale_y, double dx = 0, double dy = 0);

/// Returns the tile in the frame scaled to that size.
Tile scaled_to(const Tile& from, Size to);

/// Overlap by which a box of one tile suppresses a box of another.
enum class TileMerge : uint8_t {
  kIos,   // intersection over the smaller area, as SAHI does by default
  kIou,   // intersection over union
  kNone,  // boxes of all tiles are kept
};

/// Rules by which boxes of overlapping tiles become one box per object.
struct TileRules {
  TileMerge merge = TileMerge::kIos;
  float threshold = 0.5f;  // overlaps above it suppress
  /// Distance from an inner edge of its tile, in pixels of the model input, within which a box
  /// counts as cut by it. A cut box never suppresses a whole one. Negative: no box counts as cut.
  float border = 1;
  bool united = false;  // a kept box is extended over those that it suppresses; upright boxes only
  friend constexpr bool operator==(const TileRules&, const TileRules&) = default;
};

/// The user's division of frames into tiles.
struct TileGrid {
  uint32_t columns = 0, rows = 0;  // 0: by size
  uint32_t size = 0;               // side of square tiles in frame pixels; 0: no tiles
  float overlap = 0.2f;            // of neighbours, as a fraction of a tile's side; below 1
  bool whole = false;              // the whole frame is one more tile

  bool any() const { return size != 0 || columns != 0; }
  friend bool operator==(const TileGrid&, const TileGrid&) = default;
};

/// Rectangle of whole pixels.
struct PixelArea {
  uint32_t x = 0, y = 0;
  Size size;
  friend constexpr bool operator==(const PixelArea&, const PixelArea&) = default;
};

/// Returns kInvalid if the grid has more than kMaxTiles tiles whatever the frame is.
Status check_grid(const TileGrid& grid);

/// Returns the areas of a frame's tiles, row by row, then the whole frame. Tiles have the same
/// size; those of a row are spread evenly if the grid has columns. By size they are as SAHI's
/// slices: one every (1 - overlap) of a side, the last one moved back into the frame. Positions are
/// rounded down to whole chroma samples. kInvalid for more than kMaxTiles tiles. @pre grid.any(),
/// and the frame is not empty.
Result<std::vector<PixelArea>> tile_areas(const Picture& frame, const TileGrid& grid);

/// Returns the planes of an area of a frame. @param x,y of whole chroma samples.
FramePlanes planes_at(const FramePlanes& frame, const FrameForm& form, uint32_t x, uint32_t y);

/// Returns the tile that an input made from an area of the frame shows.
Tile tile_of(const PixelArea& area, Size frame, const Letterbox& of_area);

}  // namespace keepbox
