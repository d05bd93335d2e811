// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in page-locked host memory, which a GPU reads several times faster than other memory.
#pragma once

#include <gst/gst.h>

#include "gst/tensors/cudascope.h"

namespace keepbox {

/// Adds a pool of frames in page-locked memory to an ALLOCATION query for frames in system memory,
/// unless it has a pool already or upstream wants none. Without page-locked memory, the pool's
/// frames are in ordinary memory.
/// @param context of the device that will read the frames. @return true if it was added.
bool offer_pinned_pool(GstQuery* query, const CudaContext& context);

/// True if a device reads this memory itself, so that it may still be read when an enqueued copy
/// from it returns. @pre a context is current.
bool is_pinned(const void* data);

}  // namespace keepbox
