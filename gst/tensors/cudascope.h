// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA contexts and memory as shared by GStreamer; nocuda.cpp implements builds without libgstcuda.
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/tensor.h"

namespace keepbox {

/// True if there is a CUDA driver. Without one, everything below finds and does nothing.
bool cuda_available();

/// kNoResource without a driver. @param hint alternative for the user without CUDA.
Status require_cuda(const std::string& hint);

/// Name of a GstMemory's qdata with a cudaEvent_t after which its content is complete. The producer
/// keeps the event alive as long as the memory.
inline constexpr const char* kReadyEvent = "keepbox-ready-event";

/// Owns a reference to a GstCudaContext. Empty: no context.
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

  /// @param object transfer full.
  static CudaContext taken(gpointer object) {
    CudaContext out;
    out.object_ = static_cast<GstObject*>(object);
    return out;
  }
  static CudaContext held(gpointer object) {
    return taken(object != nullptr ? gst_object_ref(object) : nullptr);
  }

  /// Returns the context of data in a single CUDA memory; empty for any other data, and for
  /// nullptr.
  static CudaContext of(GstBuffer* data);

  GstObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const CudaContext&, const CudaContext&) = default;

 private:
  GstObject* object_ = nullptr;
};

/// Makes a context current on this thread for its lifetime; an empty one changes nothing.
class CudaScope {
 public:
  explicit CudaScope(const CudaContext& context);
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;
  ~CudaScope();

  /// kNoResource if the context cannot be made current.
  const Status& status() const { return status_; }

 private:
  bool pushed_ = false;
  Status status_;
};

/// The context that an element shares with others in its pipeline. Thread-safe.
class SharedCuda {
 public:
  /// Returns the current context, or else one from neighbours or the application, or else a new
  /// one.
  /// @param device an index or -1 for any. @param hint alternative for the user without CUDA.
  Result<CudaContext> ensure(GstElement* element, int device, const std::string& hint);

  /// Returns the primary context of the device, published to the pipeline if no other context is
  /// set. If one is set, its device is used unless another one is requested.
  Result<CudaContext> offer_primary(GstElement* element, int device);

  /// Uses a frame's context from now on.
  void adopt(const CudaContext& context);
  void clear() { adopt({}); }

  /// Takes the pipeline's context, in set_context(), if none is held and the device matches.
  void offer(GstElement* element, GstContext* context, int device);
  /// True if a CONTEXT query was answered.
  bool answer(GstElement* element, GstQuery* query);

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

  /// Returns memory that is being filled on its stream, without waiting. Transfer full. An empty
  /// buffer is returned unchanged.
  Result<GstBuffer*> upload(GstBuffer* data) const;

 private:
  CudaUploader(CudaContext context, GstMiniObject* stream)
      : context_(std::move(context)), stream_(stream) {}

  CudaContext context_;
  GstMiniObject* stream_ = nullptr;  // a GstCudaStream
};

}  // namespace keepbox
