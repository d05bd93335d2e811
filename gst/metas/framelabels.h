// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of classifiers and text recognisers about whole frames.
#pragma once

#include <gst/gst.h>

#include "gst/metas/framebox.h"

namespace keepbox {

/// Returns the results about the whole frame, as FrameBox::labels has those about an object: those
/// of classdecode, then the first class of each GstAnalyticsClsMtd of other elements that belongs
/// to no box. Texts are owned by the buffer's metas, and valid until mtds are added to these.
BoxLabels read_frame_labels(GstBuffer* buffer);

}  // namespace keepbox
