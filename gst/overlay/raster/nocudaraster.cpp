// SPDX-License-Identifier: LGPL-2.1-or-later
// Stub of cudaraster.cpp for builds without libgstcuda.
#include "gst/overlay/raster/cudaraster.h"

namespace keepbox {

Result<std::unique_ptr<DeviceRasters>> make_device_rasters() {
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                "put cudadownload before boxoverlay, or build with ./dev build --cuda");
}

bool is_on_device(GstBuffer*) { return false; }

const char* device_feature() { return nullptr; }

}  // namespace keepbox
