// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the rasters of a device for the first frame, and warns if they fail.
#include "gst/overlay/devicedrawing.h"

#include "gst/base/error.h"
#include "gst/tensors/device.h"

namespace keepbox {
namespace {

Status draw_with(std::unique_ptr<DeviceRasters>& rasters, GstBuffer* buffer,
                 const GstVideoInfo& info, const std::function<Status(Raster&)>& act) {
  if (!rasters) {
    KB_ASSIGN(rasters, make_device_rasters());
  }
  return rasters->draw(buffer, info, act);
}

}  // namespace

bool DeviceDrawing::draw(GstElement* element, GstBuffer* buffer, const GstVideoInfo& info,
                         const std::function<Status(Raster&)>& act) {
  if (failed_ || !DeviceContext::of(buffer)) return false;
  const Status status = draw_with(rasters_, buffer, info, act);
  if (status) return true;
  failed_ = true;
  Error error = status.error();
  error.hint = "frames are drawn on by the CPU from now on";
  post_warning(element, error);
  return false;
}

}  // namespace keepbox
