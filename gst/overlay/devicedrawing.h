// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing on the device as long as it works.
#pragma once

#include <gst/video/video.h>

#include <functional>
#include <memory>

#include "gst/overlay/cudaraster.h"

namespace keepbox {

/// Draws on frames in device memory, until that fails.
class DeviceDrawing {
 public:
  /// Draws where the frame is.
  /// @return false if it is not in device memory, or, with one warning of the element, if the
  /// device cannot; the host then has to draw.
  bool draw(GstElement* element, GstBuffer* buffer, const GstVideoInfo& info,
            const std::function<Status(Raster&)>& act);

 private:
  std::unique_ptr<DeviceRasters> rasters_;  // if a frame was in device memory
  bool failed_ = false;
};

}  // namespace keepbox
