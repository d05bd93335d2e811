// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA contexts, streams and mapped memory of GStreamer.
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "gst/tensors/device.h"

namespace keepbox {

// CUDA contexts and memory as shared by GStreamer; nocuda.cpp implements builds without libgstcuda.

using CudaContext = DeviceContext;
using CudaScope = DeviceScope;

/// True if there is a CUDA driver. Without one, everything below finds and does nothing.
bool cuda_available();

/// Returns kNoResource without a driver. @param hint alternative for the user without CUDA.
Status require_cuda(const std::string& hint);

/// Name of a GstMemory's qdata with a cudaEvent_t after which its content is complete. The producer
/// keeps the event alive as long as the memory.
inline constexpr const char* kReadyEvent = "keepbox-ready-event";

/// The CUDA device that an element shares with others in its pipeline.
class SharedCuda final : public Device {
 public:
  /// Returns kCuda, also without a driver; kSystem in builds without libgstcuda.
  MemorySpace memory() const override;
  Result<CudaContext> ensure(GstElement* element, int device, const std::string& hint) override;

  /// Returns the primary context of the device, published to the pipeline if no other context is
  /// set. If one is set, its device is used unless another one is requested.
  Result<CudaContext> offer_primary(GstElement* element, int device);

  void adopt(const CudaContext& context) override;
  void offer(GstElement* element, GstContext* context, int device) override;
  bool answer(GstElement* element, GstQuery* query) override;
  Result<std::unique_ptr<Uploader>> make_uploader(const CudaContext& context) override;

 private:
  CudaContext context();

  std::mutex mutex_;
  CudaContext context_;
  gpointer* asking_ = nullptr;  // result for the thread waiting in ensure()
  std::thread::id asker_;
};

/// Returns the index of a context's device.
int cuda_device_of(const CudaContext& context);

/// Maps a tensor's data for reading on the device, without waiting for it, and fills in where it is
/// and when it is ready. @pre CudaContext::of(data).
bool map_cuda(GstBuffer* data, GstMapInfo* info, TensorView& view);

/// Waits for kReadyEvent, which CPU mappings do not do.
void await_producer(GstBuffer* data);

/// The maximum that libgstcuda wraps at once: 2 GiB, minus its rounding.
inline constexpr gsize kMaxCudaBytes = G_MAXINT32 - 3;

/// Wraps device memory as a GstCudaMemory of exactly that size. Transfer full.
/// @param device a CUdeviceptr. @param bytes from 1 to kMaxCudaBytes.
/// @param stream a GstCudaStream that writes to it, or nullptr. @param notify gets user_data when
/// the memory is freed, with the context current. @pre cuda_available().
GstMemory* wrap_cuda(const CudaContext& context, gpointer device, gsize bytes,
                     GstMiniObject* stream, GDestroyNotify notify, gpointer user_data);

/// Returns the name of a CUresult, such as "CUDA_ERROR_OUT_OF_MEMORY". @pre cuda_available().
std::string cuda_error_name(int result);

/// Copies tensors to CUDA memory, on its own stream.
class CudaUploader final : public Uploader {
 public:
  static Result<CudaUploader> create(CudaContext context);
  CudaUploader(CudaUploader&& other) noexcept
      : context_(std::move(other.context_)), stream_(std::exchange(other.stream_, nullptr)) {}
  CudaUploader& operator=(CudaUploader&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CudaUploader() override { g_clear_pointer(&stream_, gst_mini_object_unref); }

  Result<GstBuffer*> upload(GstBuffer* data) const override;

 private:
  CudaUploader(CudaContext context, GstMiniObject* stream)
      : context_(std::move(context)), stream_(stream) {}

  CudaContext context_;
  GstMiniObject* stream_ = nullptr;  // a GstCudaStream
};

// Device memory of applications as GstMemory; nocuda.cpp implements builds without libgstcuda.

/// Device memory that an application lends, and when its content is ready.
struct DeviceData {
  gpointer data = nullptr;  // a CUdeviceptr
  gsize bytes = 0;          // 1 or more
  enum class Ready { kNow, kAfterStream, kAfterEvent } ready = Ready::kNow;
  gpointer ready_on = nullptr;  // a CUstream, or a CUevent that has been recorded
};

/// Wraps data of a tensor in CUDA memory, in one piece and in the context that it was allocated in.
/// There is a single GstCudaContext per context as long as it is in use. Transfer full. kInvalid if
/// it is not CUDA memory, kNoResource if the driver fails.
/// @param notify gets user_data when the memory is freed, with its context current; it is not
/// called if this fails.
Result<GstMemory*> wrap_device_data(const DeviceData& lent, GDestroyNotify notify,
                                    gpointer user_data);

/// Returns a device's primary context, in which CUDA's runtime works, as a GstCudaContext; a single
/// one as long as it is in use. kNoResource without the device.
Result<CudaContext> primary_context(int device);

}  // namespace keepbox
