// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes objects unrecognisable.
#pragma once

#include <gst/video/video.h>
#include <opencv2/core.hpp>

#include <span>
#include <string>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "gst/metas/boxes.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

enum class Obscuring { kNone, kBlur, kPixelate };

/// An object to obscure.
struct ObscuredBox {
  Box box;          // pixels of the frame
  float angle = 0;  // radians, clockwise about the centre
  FrameMask mask{};
  Obscuring how = Obscuring::kBlur;
};

struct ObscuringSize {
  double strength = 0.15;  // size of a block, as a fraction of a box's longer side
  double margin = 0.05;    // width of the area around objects, as a fraction of it
};

/// Replaces the pixels of objects by the means of square blocks, or by an interpolation of these
/// means: a blur has no more of the picture than the blocks. The pixels are those of the mask, or
/// of the box if there is no mask or if it is empty, and a margin. Boxes that are not finite are
/// skipped.
/// @pre the frame is mapped for reading and writing, in a format of KEEPBOX_PAINT_FORMATS.
Status obscure(Canvas& canvas, std::span<const ObscuredBox> boxes, ObscuringSize size,
               PaintScratch& scratch);

/// Returns the error of a frame on which objects cannot be obscured. @param why in the words of a
/// sentence.
Status cannot_obscure(const std::string& why);

// The pixels of a frame that an object covers by its mask.

/// Sets the object's pixels to 255 in scratch.cover, and others around it to 0.
/// @param margin width in pixels of the area around the object that is included
/// @return the area, aligned and clipped, at the upper left of scratch.cover; empty if the mask is
///         unreadable or has no pixel on the frame.
cv::Rect cover_object(const Canvas& canvas, const FrameMask& mask, int margin,
                      PaintScratch& scratch);

}  // namespace keepbox
