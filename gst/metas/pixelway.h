// SPDX-License-Identifier: LGPL-2.1-or-later
// The way of a frame's pixels through elements that scale, crop, flip or turn it, as metas see it.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/letterbox.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// A change of the picture's size or place.
struct PixelStep {
  Picture from, to;
  std::optional<PixelMap> map;  // where GStreamer gave it
};
using PixelWay = std::vector<PixelStep>;

/// The step of a transform; nothing for one that is not known. @param type, data as
/// GstMetaTransformFunction gets them.
std::optional<PixelStep> step_of(GQuark type, gpointer data);

/// The map of a whole way to the picture as it is now. Where GStreamer did not say how a scaler fitted
/// the picture in, `mode` does. @pre the way is not empty.
PixelMap map_of(PixelWay way, const Picture& now, ResizeMode mode);

/// Begins a way on a frame that a producer's tensors are attached to, in place of one that it began
/// before. @param frame writable. @param picture of its caps.
void begin_way(GstBuffer* frame, uint64_t producer, const Picture& picture);

/// The map from the frame that the producer saw to the buffer's picture; nothing if it began no way, or
/// if an element dropped it.
std::optional<PixelMap> map_from_inferred(GstBuffer* buffer, uint64_t producer,
                                          const Picture& now, ResizeMode mode);

/// True for the meta that a way is kept in.
bool is_pixel_way(GType api);

/// A source of tensors as it is on a picture that the map leads to; geometry is marked as lost where it
/// cannot be said as a scale and an offset. @param from the size of the map's first picture.
SharedTensorSource moved_source(const SharedTensorSource& source, Size from, Size to,
                                const PixelMap& map);

}  // namespace keepbox
