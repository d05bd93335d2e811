// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps boxes from the image of an object to the frame.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/formula/letterbox.h"
#include "gst/metas/framebox.h"
#include "gst/metas/masks.h"
#include "gst/metas/pixelmap.h"
#include "gst/metas/records/picturerecords.h"

namespace keepbox {

/// The image of an object among those of a model's tensors, and its place in the frame.
struct ObjectImage {
  guint od_id = 0;      // the object
  uint32_t image = 0;   // index in the tensors' first dimension
  Letterbox letterbox;  // from the frame to the image; for a turned image from a picture that
                        // shows what the image shows, upright and in the scale of the frame
  std::optional<PixelMap> turn;  // from that picture to the frame
};

/// Returns the image of a record; nothing if it has no area or a value is not finite.
/// @param input size of the model's input. @param picture size of the frame that the record is of.
/// @param frame size that boxes are mapped to.
std::optional<ObjectImage> object_image(const PictureRecord& record, Size input, Size picture,
                                        Size frame);

/// Maps a box of a turned image to the frame. It becomes an oriented box, or an upright one if axes
/// stay axes, which is clipped to the frame. @return false if it is outside of the frame.
bool turn_box(FrameBox& box, const PixelMap& turn, Size frame);

/// Returns a mask of a turned image in rows of the frame, in the mask's resolution, or in a lower
/// one if it would have more than 4 times as many pixels as the mask, and more than 65,536.
/// @param mask its place is before the turn. @param words memory of the result, which borrows it.
Mask turned_mask(const Mask& mask, const PixelMap& turn, Size frame, std::vector<uint32_t>& words);

}  // namespace keepbox
