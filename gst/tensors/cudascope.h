// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA contexts and memory as GStreamer shares them; nocuda.cpp is the same without libgstcuda.
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/tensor.h"

namespace keepbox {

/// Is there a driver? Without one everything below finds nothing and does nothing.
bool cuda_available();

/// kNoResource without a driver. @param hint what the user can do without CUDA.
Status require_cuda(const std::string& hint);

/// The name of a GstMemory's qdata that holds a cudaEvent_t after which its content is there. The
/// producer keeps the event alive for as long as the memory.
inline constexpr const char* kReadyEvent = "keepbox-ready-event";

/// A GstCudaContext, held. Empty: no context.
class CudaContext {
 public:
  CudaContext() = default;
  CudaContext(const CudaContext& other) : CudaContext(held(other.get())) {}
  CudaContext(CudaContext&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  CudaContext& operator=(CudaContext other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~CudaContext() { gst_clear_object(&object_); }

  /// @param object takes the reference.
  static CudaContext taken(gpointer object) {
    CudaContext out;
    out.object_ = static_cast<GstObject*>(object);
    return out;
  }
  static CudaContext held(gpointer object) {
    return taken(object != nullptr ? gst_object_ref(object) : nullptr);
  }

  /// That of data which lies in one piece of CUDA memory; empty for any other, and for nullptr.
  static CudaContext of(GstBuffer* data);

  GstObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const CudaContext&, const CudaContext&) = default;

 private:
  GstObject* object_ = nullptr;
};

/// Makes a context current on this thread while it lives; an empty one changes nothing.
class CudaScope {
 public:
  explicit CudaScope(const CudaContext& context);
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;
  ~CudaScope();

  /// kNoResource when the context cannot be made current.
  const Status& status() const { return status_; }

 private:
  bool pushed_ = false;
  Status status_;
};

/// The context that an element shares with the others of its pipeline. Thread-safe.
class SharedCuda {
 public:
  /// The one that is held, else one from neighbours or the application, else a new one.
  /// @param device an index or -1 for any. @param hint what the user can do without CUDA.
  Result<CudaContext> ensure(GstElement* element, int device, const std::string& hint);

  /// The primary context of the device, made known to the pipeline if nobody has brought a context.
  /// Where somebody has, it is that one's device unless another is asked for.
  Result<CudaContext> offer_primary(GstElement* element, int device);

  /// Holds a frame's context from now on.
  void adopt(const CudaContext& context);
  void clear() { adopt({}); }

  /// For set_context(): takes what the pipeline offers, if it holds none and the device fits.
  void offer(GstElement* element, GstContext* context, int device);
  /// For CONTEXT queries: true when answered.
  bool answer(GstElement* element, GstQuery* query);

 private:
  CudaContext context();

  std::mutex mutex_;
  CudaContext context_;
  gpointer* asking_ = nullptr;  // where the thread in ensure() waits for an offer
  std::thread::id asker_;
};

/// The index of a context's device.
int cuda_device_of(const CudaContext& context);

/// Maps a tensor's data for reading on the device, without waiting for it, and fills in where it is
/// and when it will be there. @pre CudaContext::of(data).
bool map_cuda(GstBuffer* data, GstMapInfo* info, TensorView& view);

/// Waits for kReadyEvent, which maps for the CPU do not know of.
void await_producer(GstBuffer* data);

/// The most that libgstcuda wraps in one piece: 2 GiB, less what it rounds up.
inline constexpr gsize kMostCudaBytes = G_MAXINT32 - 3;

/// Device memory as a GstCudaMemory of exactly that size. Transfer full.
/// @param device a CUdeviceptr. @param bytes from 1 to kMostCudaBytes.
/// @param stream a GstCudaStream that writes to it, or nullptr. @param notify gets user_data when the memory is freed, with the
/// context current. @pre cuda_available().
GstMemory* wrap_cuda(const CudaContext& context, gpointer device, gsize bytes,
                     GstMiniObject* stream, GDestroyNotify notify, gpointer user_data);

/// "CUDA_ERROR_OUT_OF_MEMORY" for a CUresult. @pre cuda_available().
std::string cuda_error_name(int result);

/// Copies tensors into CUDA memory, on a stream of its own.
class CudaUploader {
 public:
  static Result<CudaUploader> create(CudaContext context);
  CudaUploader(CudaUploader&& other) noexcept
      : context_(std::move(other.context_)), stream_(std::exchange(other.stream_, nullptr)) {}
  CudaUploader& operator=(CudaUploader&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CudaUploader() { g_clear_pointer(&stream_, gst_mini_object_unref); }

  /// Transfer full: memory whose stream the content is under way on; nothing is waited for. An
  /// empty buffer stays as it is.
  Result<GstBuffer*> upload(GstBuffer* data) const;

 private:
  CudaUploader(CudaContext context, GstMiniObject* stream)
      : context_(std::move(context)), stream_(stream) {}

  CudaContext context_;
  GstMiniObject* stream_ = nullptr;  // a GstCudaStream
};

}  // namespace keepbox
