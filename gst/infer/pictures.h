// SPDX-License-Identifier: LGPL-2.1-or-later
// The pictures that a model is given of a frame: the whole frame, or its tiles.
#pragma once

#include <vector>

#include "core/plan/input.h"
#include "core/plan/tiles.h"

namespace keepbox {

/// A part of a frame, and its conversion to the model input as if it were a frame of its own.
struct PicturePlan {
  InputPlan plan;
  PixelArea area;
};

/// All pictures of a frame, in the order of the tensors' images.
struct Pictures {
  std::vector<PicturePlan> plans;
  Letterbox geometry;       // from the frame to the input of the first picture
  std::vector<Tile> tiles;  // empty if the only picture is the whole frame
};

/// Returns the picture whose size decides the input of a model of dynamic size: the frame, or its
/// first tile.
Result<Picture> leading_picture(const Picture& frame, const TileGrid& grid);

/// Plans the pictures of a frame. @param form the layout of `frame`. @param input,mode see
/// plan_input().
Result<Pictures> plan_pictures(const FrameForm& form, const Picture& frame, const TileGrid& grid,
                               const InputForm& input, ResizeMode mode);

}  // namespace keepbox
