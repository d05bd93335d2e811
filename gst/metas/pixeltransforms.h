// SPDX-License-Identifier: LGPL-2.1-or-later
// The transforms of a frame's pixels through elements that scale, crop, flip or rotate it.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/formula/letterbox.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// A change of the picture's size or position.
struct PixelStep {
  Picture from, to;
  std::optional<PixelMap> map;  // if provided by GStreamer
};
using PixelTransforms = std::vector<PixelStep>;

/// Returns the step of a transform; std::nullopt for an unknown one. @param type, data as passed to
/// GstMetaTransformFunction.
std::optional<PixelStep> step_of(GQuark type, gpointer data);

/// Returns the map of all steps to the current picture. If GStreamer did not record how a scaler
/// fitted the picture, `mode` is used. @pre there is a step.
PixelMap map_of(PixelTransforms transforms, const Picture& now, ResizeMode mode);

/// Starts recording transforms on a frame that gets a producer's tensors, replacing an earlier
/// record. @param frame writable. @param picture from its caps.
void begin_transforms(GstBuffer* frame, uint64_t producer, const Picture& picture);

/// Returns the map from the frame that the producer saw to the buffer's picture; std::nullopt if it
/// recorded none, or an element dropped the record.
std::optional<PixelMap> map_from_inferred(GstBuffer* buffer, uint64_t producer, const Picture& now,
                                          ResizeMode mode);

/// True for the meta that records transforms.
bool is_pixel_transforms(GType api);

/// Returns a source of tensors for the picture after the map; geometry is marked as lost if it is
/// not a scale and an offset. @param from size of the picture before the map.
SharedProvenance moved_provenance(const SharedProvenance& source, Size from, Size to,
                                  const PixelMap& map);

}  // namespace keepbox
