// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams, events and memory of a device, owned. Each goes in the context that it was made in.
#pragma once

#include <functional>
#include <utility>

#include "core/result.h"
#include "gst/tensors/cudadriver.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// A handle of the driver's API with its context. Empty after a move, and by default.
template <class Handle, auto Destroy>
class CudaObject {
 public:
  CudaObject() = default;
  CudaObject(CudaContext context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  CudaObject(CudaObject&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle{})) {}
  CudaObject& operator=(CudaObject&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaObject() {
    if (handle_ == Handle{}) return;
    const CudaScope scope(context_);
    if (scope.status()) (cuda_driver().*Destroy)(handle_);
  }

  Handle get() const { return handle_; }

 private:
  CudaContext context_;
  Handle handle_{};
};

using CudaStream = CudaObject<CUstream, &CudaDriver::stream_destroy>;
using CudaEvent = CudaObject<CUevent, &CudaDriver::event_destroy>;
using CudaGraph = CudaObject<CUgraphExec, &CudaDriver::graph_exec_destroy>;  // to be launched

/// Memory of a device, with its size in bytes.
class DeviceMemory : public CudaObject<CUdeviceptr, &CudaDriver::free> {
 public:
  DeviceMemory() = default;
  DeviceMemory(CudaContext context, CUdeviceptr data, size_t bytes)
      : CudaObject(std::move(context), data), bytes_(bytes) {}
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

/// A GstCudaStream, for memory that others read. Transfer full.
Result<GstMiniObject*> gst_stream(const CudaContext& context);
CUstream gst_stream_handle(GstMiniObject* stream);

/// They make the context current while they work. kNoResource when the driver refuses.
Result<CudaStream> make_stream(const CudaContext& context);
/// @param timed for measuring: those that are not cost less.
Result<CudaEvent> make_event(const CudaContext& context, bool timed = false);
/// What `enqueue` puts on the stream, to be launched again and again. It is not done now. Others may use
/// the device meanwhile.
Result<CudaGraph> capture(const CudaContext& context, CUstream stream,
                          const std::function<Status()>& enqueue);
Result<DeviceMemory> allocate(const CudaContext& context, size_t bytes);

}  // namespace keepbox
