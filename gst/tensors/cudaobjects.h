// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of a device's streams, events and memory. Each is destroyed in its own context.
#pragma once

#include <functional>
#include <utility>

#include "core/base/result.h"
#include "gst/tensors/cudadriver.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// A handle of the driver's API with its context. Empty by default and after a move.
template <class Handle, auto Destroy>
class CudaObject {
 public:
  CudaObject() = default;
  CudaObject(CudaContext context, Handle handle) : context_(std::move(context)), handle_(handle) {}
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
using CudaGraph = CudaObject<CUgraphExec, &CudaDriver::graph_exec_destroy>;  // executable

/// Device memory with its size in bytes.
class DeviceMemory : public CudaObject<CUdeviceptr, &CudaDriver::free> {
 public:
  DeviceMemory() = default;
  DeviceMemory(CudaContext context, CUdeviceptr data, size_t bytes)
      : CudaObject(std::move(context), data), bytes_(bytes) {}
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

/// Makes a GstCudaStream, for memory that other elements read. Transfer full.
Result<GstMiniObject*> gst_stream(const CudaContext& context);
CUstream gst_stream_handle(GstMiniObject* stream);

/// Order of the work on streams that wait for the device.
enum class StreamPriority { kLow, kHigh };

/// Makes a stream with the context current. kNoResource if the driver fails.
Result<CudaStream> make_stream(const CudaContext& context, StreamPriority priority);

/// Uses of an event.
enum class EventUse {
  kOrder,    // between streams
  kTime,     // between streams, and for measuring
  kWaiting,  // for measuring, and for threads that sleep until it is reached
};
Result<CudaEvent> make_event(const CudaContext& context, EventUse use);
/// Waits for an event of use kWaiting that is expected soon: polls for a moment, then sleeps.
CUresult wait_shortly(CUevent event);
/// Captures what `enqueue` puts on the stream into a graph, without executing it. Other threads may
/// use the device meanwhile.
Result<CudaGraph> capture(const CudaContext& context, CUstream stream,
                          const std::function<Status()>& enqueue);
Result<DeviceMemory> allocate(const CudaContext& context, size_t bytes);

}  // namespace keepbox
