// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver's and libgstcuda's functions, loaded at run time, and owners of the driver's objects.
#pragma once

#include <gst/cuda/gstcuda.h>

#include <bit>
#include <functional>
#include <utility>

#include "core/base/result.h"
#include "gst/base/library.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

// Functions of the CUDA driver that libgstcuda does not wrap.

/// The driver's API, with the stable names of CUDA 11.4.
struct CudaDriver {
  LateLibrary library;
  bool complete() const { return library.complete(); }

  CUresult (*init)(unsigned) = library.find("cuInit");
  CUresult (*device_get)(CUdevice*, int) = library.find("cuDeviceGet");
  CUresult (*primary_retain)(CUcontext*, CUdevice) = library.find("cuDevicePrimaryCtxRetain");
  CUresult (*pointer_attribute)(void*, CUpointer_attribute,
                                CUdeviceptr) = library.find("cuPointerGetAttribute");
  CUresult (*current_context)(CUcontext*) = library.find("cuCtxGetCurrent");
  CUresult (*current_device)(CUdevice*) = library.find("cuCtxGetDevice");
  CUresult (*priorities)(int* lowest, int* highest) = library.find("cuCtxGetStreamPriorityRange");
  CUresult (*stream_create)(CUstream*, unsigned flags,
                            int priority) = library.find("cuStreamCreateWithPriority");
  CUresult (*stream_destroy)(CUstream) = library.find("cuStreamDestroy_v2");
  CUresult (*stream_synchronize)(CUstream) = library.find("cuStreamSynchronize");
  CUresult (*stream_wait)(CUstream, CUevent, unsigned) = library.find("cuStreamWaitEvent");
  CUresult (*stream_context)(CUstream, CUcontext*) = library.find("cuStreamGetCtx");
  CUresult (*begin_capture)(CUstream,
                            CUstreamCaptureMode) = library.find("cuStreamBeginCapture_v2");
  CUresult (*end_capture)(CUstream, CUgraph*) = library.find("cuStreamEndCapture");
  CUresult (*graph_instantiate)(CUgraphExec*, CUgraph,
                                unsigned long long) = library.find("cuGraphInstantiateWithFlags");
  CUresult (*graph_destroy)(CUgraph) = library.find("cuGraphDestroy");
  CUresult (*graph_launch)(CUgraphExec, CUstream) = library.find("cuGraphLaunch");
  CUresult (*graph_upload)(CUgraphExec, CUstream) = library.find("cuGraphUpload");
  CUresult (*graph_exec_destroy)(CUgraphExec) = library.find("cuGraphExecDestroy");
  CUresult (*event_create)(CUevent*, unsigned) = library.find("cuEventCreate");
  CUresult (*event_destroy)(CUevent) = library.find("cuEventDestroy_v2");
  CUresult (*event_record)(CUevent, CUstream) = library.find("cuEventRecord");
  CUresult (*event_query)(CUevent) = library.find("cuEventQuery");
  CUresult (*event_synchronize)(CUevent) = library.find("cuEventSynchronize");
  CUresult (*event_elapsed)(float*, CUevent, CUevent) = library.find("cuEventElapsedTime");
  CUresult (*alloc)(CUdeviceptr*, size_t) = library.find("cuMemAlloc_v2");
  CUresult (*free)(CUdeviceptr) = library.find("cuMemFree_v2");
  CUresult (*host_alloc)(void**, size_t, unsigned) = library.find("cuMemHostAlloc");
  CUresult (*host_free)(void*) = library.find("cuMemFreeHost");
  CUresult (*copy_in)(CUdeviceptr, const void*, size_t,
                      CUstream) = library.find("cuMemcpyHtoDAsync_v2");
  CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t,
                   CUstream) = library.find("cuMemcpyDtoDAsync_v2");
  CUresult (*copy_across)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t,
                          CUstream) = library.find("cuMemcpyPeerAsync");
};

/// Loads the library on the first call, permanently. Call its functions only if it is complete.
const CudaDriver& cuda_driver();

/// Returns success, or kNoResource with the driver's name of the error.
Status cuda_status(CUresult result, const char* expected);

// Owners of a device's streams, events and memory. Each is destroyed in its own context.

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

// libgstcuda, loaded on first use: without it everything runs on the CPU.

/// Flags for reading in device memory. Beyond the enumeration's range, so a static_cast is
/// undefined.
inline constexpr GstMapFlags kReadCuda =
    std::bit_cast<GstMapFlags>(int{GST_MAP_READ} | GST_MAP_CUDA);

/// All functions of libgstcuda that are used here.
struct GstCuda {
  LateLibrary library;
  bool complete() const { return library.complete(); }

  decltype(&gst_cuda_load_library) load_library = library.find("gst_cuda_load_library");
  decltype(&gst_cuda_context_new_wrapped) context_new_wrapped =
      library.find("gst_cuda_context_new_wrapped");
  decltype(&gst_cuda_context_get_handle) context_get_handle =
      library.find("gst_cuda_context_get_handle");
  decltype(&gst_cuda_context_push) context_push = library.find("gst_cuda_context_push");
  decltype(&gst_cuda_context_pop) context_pop = library.find("gst_cuda_context_pop");
  decltype(&gst_cuda_ensure_element_context) ensure_element_context =
      library.find("gst_cuda_ensure_element_context");
  decltype(&gst_cuda_handle_set_context) handle_set_context =
      library.find("gst_cuda_handle_set_context");
  decltype(&gst_cuda_handle_context_query) handle_context_query =
      library.find("gst_cuda_handle_context_query");
  decltype(&gst_context_new_cuda_context) new_context_message =
      library.find("gst_context_new_cuda_context");
  decltype(&gst_cuda_memory_get_stream) memory_get_stream =
      library.find("gst_cuda_memory_get_stream");
  decltype(&gst_cuda_stream_new) stream_new = library.find("gst_cuda_stream_new");
  decltype(&gst_cuda_stream_get_handle) stream_get_handle =
      library.find("gst_cuda_stream_get_handle");
  decltype(&gst_cuda_allocator_alloc_wrapped) allocator_alloc_wrapped =
      library.find("gst_cuda_allocator_alloc_wrapped");
  decltype(&::CuCtxPushCurrent) CuCtxPushCurrent = library.find("CuCtxPushCurrent");
  decltype(&::CuCtxPopCurrent) CuCtxPopCurrent = library.find("CuCtxPopCurrent");
  decltype(&::CuEventCreate) CuEventCreate = library.find("CuEventCreate");
  decltype(&::CuEventDestroy) CuEventDestroy = library.find("CuEventDestroy");
  decltype(&::CuEventRecord) CuEventRecord = library.find("CuEventRecord");
  decltype(&::CuEventSynchronize) CuEventSynchronize = library.find("CuEventSynchronize");
  decltype(&::CuGetErrorName) CuGetErrorName = library.find("CuGetErrorName");
  decltype(&::CuMemAlloc) CuMemAlloc = library.find("CuMemAlloc");
  decltype(&::CuMemFree) CuMemFree = library.find("CuMemFree");
  decltype(&::CuMemcpyHtoDAsync) CuMemcpyHtoDAsync = library.find("CuMemcpyHtoDAsync");
};

/// Loads the library on the first call, permanently. Call its functions only if it is complete.
const GstCuda& gst_cuda();

}  // namespace keepbox
