// SPDX-License-Identifier: LGPL-2.1-or-later
// The element inside tensorreplay that attaches recorded tensors to frames.
#pragma once

#include <gst/gst.h>

#include "core/letterbox.h"

GType keepbox_tensor_attach_get_type();

namespace keepbox {

/// Installs its properties, which are tensorreplay's too.
void install_attach_properties(GObjectClass* klass);

/// Opens the recording unless it is open; posts an error and returns false when it cannot.
bool open_recording(GstElement* attach);
void close_recording(GstElement* attach);

/// Size of the recorded frames, 0 x 0 where unknown. @pre open_recording()
Size recorded_size(GstElement* attach);

}  // namespace keepbox
