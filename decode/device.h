// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices of a decoder, by the backends that this build has.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/run/backend.h"
#include "decode/keepbox-decode.h"

namespace keepbox {

/// Makes a device current while it exists; nothing for device -1.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  const Status& status() const { return status_; }

 private:
  Status status_;
  int previous_ = -1;
};

/// Returns the device that decodes the tensors: that of their memory, or for host memory that of
/// the options; -1: the host. @param backend effective name. @param wanted -1: the first device
Result<int> device_for(std::span<const TensorView> tensors, std::string_view backend, int wanted);

/// Copies a tensor in device memory to the host, after its stream's work.
Status download(const TensorView& from, std::span<std::byte> to);

/// Returns the stream, or that of the device by default instead of null.
void* named_stream(void* stream);

/// Returns the counts as the C interface has them.
KeepboxDecodeFunnel public_funnel(const Funnel& funnel);

}  // namespace keepbox
