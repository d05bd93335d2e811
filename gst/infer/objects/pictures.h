// SPDX-License-Identifier: LGPL-2.1-or-later
// The pictures that a model is given of a frame: the whole frame, its tiles, or its objects.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/crops.h"
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
  std::vector<PicturePlan> plans;  // empty for objects
  std::optional<CropPlan> crops;   // of objects, which differ from frame to frame
  unsigned max_pictures = 1;       // pictures of a frame
  Letterbox geometry;              // from the frame to the input of the first picture
  std::vector<Tile> tiles;         // empty if the only picture is the whole frame
};

/// Returns the picture whose size decides the input of a model of dynamic size: the frame, or its
/// first tile.
Result<Picture> leading_picture(const Picture& frame, const TileGrid& grid);

/// Plans the pictures of a frame. @param form the layout of `frame`. @param input,mode see
/// plan_input().
Result<Pictures> plan_pictures(const FrameForm& form, const Picture& frame, const TileGrid& grid,
                               const InputForm& input, ResizeMode mode);

/// Plans the pictures of up to `most` objects of a frame. Positions in the model input are not
/// mapped to the frame.
Result<Pictures> plan_objects(const FrameForm& form, const Picture& frame, unsigned max_pictures,
                              const InputForm& input);

}  // namespace keepbox
