// SPDX-License-Identifier: LGPL-2.1-or-later
// Device memory of applications as GStreamer's; nocuda.cpp is the same without libgstcuda.
#pragma once

#include <gst/gst.h>

#include "core/result.h"
#include "gst/keepbox.h"

namespace keepbox {

/// The data of a tensor in CUDA memory, in one piece and in the context that it was allocated in,
/// which is one GstCudaContext for as long as anyone holds that. Transfer full.
/// @param tensor its size is not 0; KEEPBOX_READY_EVENT has an event. kInvalid when its data is not
/// CUDA memory, kNoResource when the driver refuses.
/// @param notify as keepbox_buffer_add_tensor() has it: not called when this fails.
Result<GstMemory*> wrap_device_data(const KeepboxTensor& tensor, GDestroyNotify notify,
                                    gpointer user_data);

}  // namespace keepbox
