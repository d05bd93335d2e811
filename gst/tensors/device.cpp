// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of builds without a device.
#include "gst/tensors/device.h"

namespace keepbox {
namespace {

std::unexpected<Error> no_device(const std::string& hint) {
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                hint + ", or build with ./dev build --cuda");
}

}  // namespace

Result<DeviceContext> NullDevice::ensure(GstElement*, int, const std::string& hint) {
  return no_device(hint);
}

Result<std::unique_ptr<Uploader>> NullDevice::make_uploader(const DeviceContext&) {
  return no_device("set memory=system");
}

}  // namespace keepbox
