// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU for tests: a context, frames with tensors on it, and late producers.
#pragma once

#include <dlfcn.h>
#include <gst/cuda/gstcuda.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "gst/tensors/cudascope.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

/// Returns a function of the driver that libgstcuda does not wrap.
template <class Function>
Function* driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_LAZY);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

inline GstCudaContext* cast(const CudaContext& context) {
  return reinterpret_cast<GstCudaContext*>(context.get());
}

/// Tests that need a GPU: skipped without one, or failed if KEEPBOX_REQUIRE names cuda.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* missing = find_backend("cuda") == nullptr ? "this build has no cuda backend"
                          : !cuda_available()             ? "no CUDA driver"
                                                          : nullptr;
    if (missing == nullptr) {
      context = CudaContext::taken(gst_cuda_context_new(0));
      if (!context) missing = "no CUDA device";
    }
    if (missing == nullptr) return;
    const char* required = std::getenv("KEEPBOX_REQUIRE");
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos)
      FAIL() << missing;
    GTEST_SKIP() << missing;
  }

  size_t free_memory() const {
    const CudaScope scope(context);
    size_t free = 0, total = 0;
    EXPECT_EQ(driver<CUresult(size_t*, size_t*)>("cuMemGetInfo_v2")(&free, &total), CUDA_SUCCESS);
    return free;
  }

  CudaContext context;
};

/// @param data transfer full
inline GstBuffer* frame_of(const Tensor& tensor, GstBuffer* data) {
  Buffer frame = empty_frame();
  add_tensor(frame.get(), tensor.id.c_str(), DataType::kFloat32, tensor.shape,
             GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
  return frame.release();
}

inline GstBuffer* frame_on_host(const Tensor& tensor) {
  return frame_of(tensor, data_buffer(tensor.values.data(), bytes_of(tensor)));
}

inline GstBuffer* frame_on(const CudaContext& context, const Tensor& tensor) {
  const auto uploader = CudaUploader::create(context);
  const Buffer host(data_buffer(tensor.values.data(), bytes_of(tensor)));
  const auto data = uploader->upload(host.get());
  EXPECT_TRUE(data) << data.error().message();
  return frame_of(tensor, *data);
}

/// Copies a frame to CUDA memory. @param stream may be nullptr.
inline Buffer on_device(const CudaContext& context, const std::string& caps_text,
                        const Buffer& host, GstCudaStream* stream) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(caps_text.c_str());
  GstVideoInfo info;
  EXPECT_TRUE(gst_video_info_from_caps(&info, caps));
  gst_cuda_memory_init_once();
  GstMemory* memory = gst_cuda_allocator_alloc(nullptr, cast(context), stream, &info);
  Buffer out(gst_buffer_new());
  const auto* meta = GST_CUDA_MEMORY_CAST(memory);
  gst_buffer_append_memory(out.get(), memory);
  gst_buffer_add_video_meta_full(out.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info),
                                 GST_VIDEO_INFO_N_PLANES(&info), meta->info.offset,
                                 meta->info.stride);
  GstVideoFrame from, to;
  EXPECT_TRUE(gst_video_frame_map(&from, &info, host.get(), GST_MAP_READ));
  EXPECT_TRUE(gst_video_frame_map(&to, &info, out.get(), GST_MAP_WRITE));
  gst_video_frame_copy(&to, &from);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  return out;
}

/// Writes tensors long after passing them on, replacing values that give other boxes.
class LateProducer {
 public:
  /// @param with_event signals by kReadyEvent on memory without a stream, otherwise by the stream.
  LateProducer(CudaContext context, Tensor tensor, bool with_event)
      : context_(std::move(context)), tensor_(std::move(tensor)), with_event_(with_event) {
    const CudaScope scope(context_);
    stream_ = gst_cuda_stream_new(cast(context_));
    queue_ = gst_cuda_stream_get_handle(stream_);
    // With an event, nothing else may order the work: not even the default stream.
    if (with_event_) {
      EXPECT_EQ(CuStreamCreate(&queue_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    }
    EXPECT_EQ(CuMemAlloc(&source_, static_cast<unsigned>(bytes_of(tensor_))), CUDA_SUCCESS);
    EXPECT_EQ(CuMemcpyHtoD(source_, tensor_.values.data(), bytes_of(tensor_)), CUDA_SUCCESS);
    EXPECT_EQ(CuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  ~LateProducer() {
    const CudaScope scope(context_);
    CuMemFree(source_);
    CuEventDestroy(event_);
    if (with_event_) CuStreamDestroy(queue_);
    gst_cuda_stream_unref(stream_);
  }

  /// Memory that is written by work on the stream, and the event after it.
  struct Work {
    CUdeviceptr data;
    CUstream stream;
    CUevent event;
  };
  Work begin() {
    const CudaScope scope(context_);
    const size_t bytes = bytes_of(tensor_);
    const Tensor poison = crowd(999);
    CUdeviceptr data = 0;
    EXPECT_EQ(CuMemAlloc(&data, static_cast<unsigned>(bytes)), CUDA_SUCCESS);
    EXPECT_EQ(CuMemcpyHtoD(data, poison.values.data(), bytes), CUDA_SUCCESS);
    driver<CUresult(CUstream, CUhostFn, void*)>("cuLaunchHostFunc")(
        queue_, [](void*) { usleep(3000); }, nullptr);
    EXPECT_EQ(CuMemcpyDtoDAsync(data, source_, bytes, queue_), CUDA_SUCCESS);
    EXPECT_EQ(CuEventRecord(event_, queue_), CUDA_SUCCESS);
    return {data, queue_, event_};
  }

  GstBuffer* frame() { return frame_of(tensor_, wrap(begin().data, bytes_of(tensor_))); }

  bool is_late() const {
    const CudaScope scope(context_);
    return driver<CUresult(CUevent)>("cuEventQuery")(event_) == CUDA_ERROR_NOT_READY;
  }

 private:
  GstBuffer* wrap(CUdeviceptr data, size_t bytes) {
    GstMiniObject* stream = with_event_ ? nullptr : GST_MINI_OBJECT_CAST(stream_);
    GstMemory* memory =
        wrap_cuda(context_, reinterpret_cast<gpointer>(data), bytes, stream, nullptr, nullptr);
    if (with_event_)
      gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), g_quark_from_string(kReadyEvent),
                                event_, nullptr);
    GstBuffer* buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, memory);
    return buffer;
  }

  CudaContext context_;
  Tensor tensor_;
  bool with_event_;
  GstCudaStream* stream_ = nullptr;
  CUstream queue_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr source_ = 0;
};

/// Returns the CUcontext with which an element answers CONTEXT queries, or nullptr.
inline gpointer shared_context(GstElement* element) {
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, "sink");
  GstCudaContext* context = nullptr;
  GstContext* answer = nullptr;
  if (gst_pad_query(pad, query)) gst_query_parse_context(query, &answer);
  if (answer != nullptr)
    gst_structure_get(gst_context_get_structure(answer), GST_CUDA_CONTEXT_TYPE,
                      GST_TYPE_CUDA_CONTEXT, &context, nullptr);
  gst_query_unref(query);
  gpointer handle = context != nullptr ? gst_cuda_context_get_handle(context) : nullptr;
  gst_clear_object(&context);
  return handle;
}

}  // namespace keepbox::test
