// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a frame as bytes, in which they reach another process of the host.
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// Version of the bytes; readers know no other one. To be raised with every change of these.
inline constexpr guint8 kWireVersion = 3;

/// Properties of a packed box, as bits.
enum WireFlags : guint16 {
  kWireClass = 1,
  kWireAnchor = 2,
  kWireUnnamed = 4,
  kWireHeld = 8,
  kWirePredicted = 16,
  kWireTrack = 32,
  kWireLost = 64,
  kWireCoco = 128,
};
inline constexpr guint32 kNoParent = G_MAXUINT32;

/// Returns the boxes of a buffer, whichever decoder wrote them, with masks, keypoints, values,
/// tracks, classes and parents; boxes below the score threshold; the results of classifiers and
/// text recognisers about the frame; and the models that did not look at it.
/// @pre the buffer has a relation meta.
std::vector<guint8> pack_boxes(GstBuffer* buffer);

/// Attaches packed boxes to a buffer without a relation meta.
/// @param bytes may be anything. After an error nothing is attached.
Status unpack_boxes(std::span<const guint8> bytes, GstBuffer* buffer);

}  // namespace keepbox
