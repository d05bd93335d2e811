// SPDX-License-Identifier: LGPL-2.1-or-later
// Device memory of applications as GstMemory; nocuda.cpp implements builds without libgstcuda.
#pragma once

#include <gst/gst.h>

#include "core/base/result.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// Device memory that an application lends, and when its content is ready.
struct DeviceData {
  gpointer data = nullptr;  // a CUdeviceptr
  gsize bytes = 0;          // 1 or more
  enum class Ready { kNow, kAfterStream, kAfterEvent } ready = Ready::kNow;
  gpointer ready_on = nullptr;  // a CUstream, or a CUevent that has been recorded
};

/// Wraps data of a tensor in CUDA memory, in one piece and in the context that it was allocated in.
/// There is a single GstCudaContext per context as long as it is in use. Transfer full. kInvalid if
/// it is not CUDA memory, kNoResource if the driver fails.
/// @param notify gets user_data when the memory is freed, with its context current; it is not
/// called if this fails.
Result<GstMemory*> wrap_device_data(const DeviceData& lent, GDestroyNotify notify,
                                    gpointer user_data);

/// Returns a device's primary context, in which CUDA's runtime works, as a GstCudaContext; a single
/// one as long as it is in use. kNoResource without the device.
Result<CudaContext> primary_context(int device);

}  // namespace keepbox
