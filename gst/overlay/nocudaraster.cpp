// SPDX-License-Identifier: LGPL-2.1-or-later
// Stub of cudaraster.cpp for builds without libgstcuda.

#include "gst/overlay/cudaraster.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

Result<std::unique_ptr<DeviceRasters>> make_device_rasters() {
  return std::unexpected(require_cuda("put cudadownload before boxoverlay").error());
}

const char* device_feature() { return nullptr; }

}  // namespace keepbox
