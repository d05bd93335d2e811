// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver's and libgstcuda's functions, loaded at run time, and owners of the driver's objects.
#include "gst/tensors/cudaobjects.h"

#include <chrono>

namespace keepbox {
namespace {

template <class Object, class Handle, class Make>
Result<Object> made(const CudaContext& context, const char* expected, Make make) {
  const CudaScope scope(context);
  KB_TRY(scope.status());
  Handle handle{};
  KB_TRY(cuda_status(make(&handle), expected));
  return Object(context, handle);
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver loaded{LateLibrary("libcuda.so.1")};
  return loaded;
}

Status cuda_status(CUresult result, const char* subject) {
  if (result == CUDA_SUCCESS) return {};
  return reject(ErrorKind::kNoResource,
                std::string("CUDA failed while ") + subject + ": " + cuda_error_name(result),
                "see nvidia-smi and the kernel log");
}

Result<CudaStream> make_stream(const CudaContext& context, StreamPriority priority) {
  return made<CudaStream, CUstream>(context, "making a stream", [&](CUstream* stream) {
    int lowest = 0, highest = 0;
    cuda_driver().priorities(&lowest, &highest);
    return cuda_driver().stream_create(stream, CU_STREAM_NON_BLOCKING,
                                       priority == StreamPriority::kHigh ? highest : lowest);
  });
}

Result<GstMiniObject*> gst_stream(const CudaContext& context) {
  GstCudaStream* stream = gst_cuda().stream_new(reinterpret_cast<GstCudaContext*>(context.get()));
  if (stream != nullptr) return GST_MINI_OBJECT_CAST(stream);
  return reject(ErrorKind::kNoResource, "The CUDA context cannot make a stream",
                "see GST_DEBUG=cudastream:6");
}

CUstream gst_stream_handle(GstMiniObject* stream) {
  return gst_cuda().stream_get_handle(reinterpret_cast<GstCudaStream*>(stream));
}

Result<CudaEvent> make_event(const CudaContext& context, EventUse use) {
  const unsigned flags = use == EventUse::kOrder  ? CU_EVENT_DISABLE_TIMING
                         : use == EventUse::kTime ? CU_EVENT_DEFAULT
                                                  : CU_EVENT_BLOCKING_SYNC;
  return made<CudaEvent, CUevent>(context, "making an event", [&](CUevent* event) {
    return cuda_driver().event_create(event, flags);
  });
}

CUresult wait_shortly(CUevent event) {
  constexpr std::chrono::microseconds kPolling{50};
  const auto end = std::chrono::steady_clock::now() + kPolling;
  while (std::chrono::steady_clock::now() < end)
    if (const CUresult result = cuda_driver().event_query(event); result != CUDA_ERROR_NOT_READY)
      return result;
  return cuda_driver().event_synchronize(event);
}

Result<CudaGraph> capture(const CudaContext& context, CUstream stream,
                          const std::function<Status()>& enqueue) {
  const CudaDriver& cuda = cuda_driver();
  KB_TRY(
      cuda_status(cuda.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capturing a graph"));
  const Status enqueued = enqueue();
  CUgraph graph = nullptr;
  const Status captured = cuda_status(cuda.end_capture(stream, &graph), "capturing a graph");
  KB_TRY(enqueued);
  KB_TRY(captured);
  CUgraphExec ready = nullptr;
  const CUresult result = cuda.graph_instantiate(&ready, graph, 0);
  cuda.graph_destroy(graph);
  KB_TRY(cuda_status(result, "instantiating a graph"));
  return CudaGraph(context, ready);
}

Result<DeviceMemory> allocate(const CudaContext& context, size_t bytes) {
  const CudaScope scope(context);
  KB_TRY(scope.status());
  CUdeviceptr data = 0;
  const std::string what = "allocating " + std::to_string(bytes) + " bytes of device memory";
  KB_TRY(cuda_status(cuda_driver().alloc(&data, bytes), what.c_str()));
  return DeviceMemory(context, data, bytes);
}

const GstCuda& gst_cuda() {
  static const GstCuda loaded{LateLibrary("libgstcuda-1.0.so.0")};
  return loaded;
}

}  // namespace keepbox
