// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing on frames in device memory; nocudaraster.cpp implements builds without CUDA.
#pragma once

#include <gst/video/video.h>

#include <functional>
#include <memory>

#include "core/base/result.h"
#include "gst/overlay/raster.h"

namespace keepbox {

/// Makes rasters of frames in device memory, and keeps memory of the device between frames.
class DeviceRasters {
 public:
  virtual ~DeviceRasters() = default;

  /// Maps a frame, draws on it, and starts the work on the stream of its memory, for which later
  /// users of the frame wait. Without a stream it waits itself. After an error the frame may be
  /// drawn on in part.
  /// @param buffer writable, in device memory.
  virtual Status draw(GstBuffer* buffer, const GstVideoInfo& info,
                      const std::function<Status(Raster&)>& act) = 0;
};

/// Returns kNoResource in a build without CUDA.
Result<std::unique_ptr<DeviceRasters>> make_device_rasters();

/// Returns the caps feature of memory that DeviceRasters draws on, or nullptr in a build without
/// CUDA.
const char* device_feature();

}  // namespace keepbox
