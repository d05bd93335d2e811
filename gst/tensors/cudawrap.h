// SPDX-License-Identifier: LGPL-2.1-or-later
// Device memory of applications as GStreamer's; nocuda.cpp is the same without libgstcuda.
#pragma once

#include <gst/gst.h>

#include "core/result.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// Device memory that an application lends, and when its content is there.
struct DeviceData {
  gpointer data = nullptr;  // a CUdeviceptr
  gsize bytes = 0;          // 1 or more
  enum class Ready { kNow, kBehindStream, kBehindEvent } ready = Ready::kNow;
  gpointer ready_on = nullptr;  // a CUstream, or a CUevent that has been recorded
};

/// The data of a tensor in CUDA memory, in one piece and in the context that it was allocated in,
/// which is one GstCudaContext for as long as anyone holds that. Transfer full.
/// kInvalid when it is not CUDA memory, kNoResource when the driver refuses.
/// @param notify gets user_data when the memory is freed, with its context current; it is not called
/// when this fails.
Result<GstMemory*> wrap_device_data(const DeviceData& lent, GDestroyNotify notify,
                                    gpointer user_data);

/// A device's primary context, which CUDA's runtime works in, as GStreamer shares it: one for as long as
/// anyone holds it. kNoResource without the device.
Result<CudaContext> primary_context(int device);

}  // namespace keepbox
