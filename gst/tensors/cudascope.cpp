// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA contexts, streams and mapped memory of GStreamer.
#include "gst/tensors/cudascope.h"

#include <map>

#include "gst/tensors/cudaobjects.h"

namespace keepbox {
namespace {

GstCudaContext* cast(const CudaContext& context) {
  return reinterpret_cast<GstCudaContext*>(context.get());
}

GstCudaMemory* cuda_memory(GstBuffer* data, guint index) {
  GstMemory* memory = gst_buffer_peek_memory(data, index);
  return memory != nullptr && gst_memory_is_type(memory, GST_CUDA_MEMORY_TYPE_NAME)
             ? GST_CUDA_MEMORY_CAST(memory)
             : nullptr;
}

CUevent ready_event(GstCudaMemory* memory) {
  static const GQuark quark = g_quark_from_static_string(kReadyEvent);
  return static_cast<CUevent>(gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), quark));
}

/// Frees memory in its own context, which the allocator makes current.
void free_device(gpointer data) { gst_cuda().CuMemFree(reinterpret_cast<CUdeviceptr>(data)); }

/// Returns a description of the bytes as a picture of one line, the only memory without padding
/// that libgstcuda wraps. Padded lines would make the tensor larger than its dimensions.
GstVideoInfo one_line(gsize bytes) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(bytes), 1);
  info.stride[0] = static_cast<gint>(bytes);
  info.size = bytes;
  return info;
}

}  // namespace

bool cuda_available() { return gst_cuda().complete() && gst_cuda().load_library() != FALSE; }

Status require_cuda(const std::string& hint) {
  if (!gst_cuda().complete())
    return reject(ErrorKind::kNoResource,
                  "GStreamer's CUDA library, libgstcuda-1.0.so.0, cannot be loaded",
                  "install the libraries of GStreamer's plugins-bad, or " + hint);
  if (cuda_available()) return {};
  return reject(ErrorKind::kNoResource, "The CUDA driver, libcuda.so.1, cannot be loaded",
                "install the NVIDIA driver, or " + hint);
}

DeviceContext DeviceContext::of(GstBuffer* data) {
  if (data == nullptr || gst_buffer_n_memory(data) != 1) return {};
  const GstCudaMemory* memory = cuda_memory(data, 0);
  return held(memory != nullptr ? memory->context : nullptr);
}

DeviceScope::DeviceScope(const CudaContext& context)
    : pushed_(context && gst_cuda().context_push(cast(context))) {
  if (context && !pushed_)
    status_ = reject(ErrorKind::kNoResource, "The CUDA context was lost",
                     "see nvidia-smi and the kernel log");
}

DeviceScope::~DeviceScope() {
  if (pushed_) gst_cuda().context_pop(nullptr);
}

MemorySpace SharedCuda::memory() const { return MemorySpace::kCuda; }

Result<CudaContext> SharedCuda::ensure(GstElement* element, int device, const std::string& hint) {
  KB_TRY(require_cuda(hint));
  gpointer found = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (context_) return context_;
    asking_ = &found;
    asker_ = std::this_thread::get_id();
  }
  // Without the lock, because queried neighbours may query this element.
  gst_cuda().ensure_element_context(element, device, reinterpret_cast<GstCudaContext**>(&found));
  const std::lock_guard lock(mutex_);
  asking_ = nullptr;
  CudaContext made = CudaContext::taken(found);
  if (!context_) context_ = std::move(made);
  if (context_) return context_;
  return reject(ErrorKind::kNoResource,
                (device < 0 ? "No CUDA device" : "CUDA device " + std::to_string(device)) +
                    (device < 0 ? " can make a context" : " cannot make a context"),
                (device < 0 ? "see nvidia-smi, or " : "set a different device-id=, or ") + hint);
}

Result<CudaContext> SharedCuda::offer_primary(GstElement* element, int device) {
  KB_TRY(require_cuda("set provider=cpu"));
  const CudaContext there = context();
  if (device < 0) device = there ? cuda_device_of(there) : 0;
  auto primary = primary_context(device);
  if (!primary || there) return primary;
  adopt(*primary);
  gst_element_post_message(
      element, gst_message_new_have_context(GST_OBJECT(element),
                                            gst_cuda().new_context_message(cast(*primary))));
  return primary;
}

void SharedCuda::adopt(const CudaContext& context) {
  CudaContext before = context;  // released after the lock, as the last reference frees the device
  const std::lock_guard lock(mutex_);
  std::swap(context_, before);
}

CudaContext SharedCuda::context() {
  const std::lock_guard lock(mutex_);
  return context_;
}

void SharedCuda::offer(GstElement* element, GstContext* context, int device) {
  GstCudaContext* object = nullptr;
  if (!gst_context_has_context_type(context, GST_CUDA_CONTEXT_TYPE) || !gst_cuda().complete() ||
      !gst_cuda().handle_set_context(element, context, device, &object))
    return;
  CudaContext offered = CudaContext::taken(object);
  const std::lock_guard lock(mutex_);
  if (asking_ != nullptr && asker_ == std::this_thread::get_id() && *asking_ == nullptr)
    *asking_ = gst_object_ref(object);
  if (!context_) context_ = std::move(offered);
}

bool SharedCuda::answer(GstElement* element, GstQuery* query) {
  const CudaContext mine = context();
  return mine && gst_cuda().handle_context_query(element, query, cast(mine));
}

Result<std::unique_ptr<Uploader>> SharedCuda::make_uploader(const CudaContext& context) {
  KB_ASSIGN(auto uploader, CudaUploader::create(context));
  return std::make_unique<CudaUploader>(std::move(uploader));
}

std::unique_ptr<Device> make_device() { return std::make_unique<SharedCuda>(); }

int cuda_device_of(const CudaContext& context) {
  guint device = 0;
  g_object_get(context.get(), "cuda-device-id", &device, nullptr);
  return static_cast<int>(device);
}

bool map_cuda(GstBuffer* data, GstMapInfo* info, TensorView& view) {
  GstCudaMemory* memory = cuda_memory(data, 0);
  if (!gst_buffer_map(data, info, kReadCuda)) return false;
  view.space = MemorySpace::kCuda;
  view.ready_event = ready_event(memory);
  // Set whatever the memory's flags are: producers that only wrap a pointer leave them alone.
  // Without a stream the content is ready, as in gst_cuda_memory_sync().
  if (GstCudaStream* stream = gst_cuda().memory_get_stream(memory))
    view.ready_stream = gst_cuda().stream_get_handle(stream);
  return true;
}

void await_producer(GstBuffer* data) {
  for (guint i = 0; i < gst_buffer_n_memory(data); ++i) {
    GstCudaMemory* memory = cuda_memory(data, i);
    CUevent event = memory != nullptr ? ready_event(memory) : nullptr;
    if (event == nullptr) continue;
    const CudaScope scope(CudaContext::held(memory->context));
    if (scope.status()) gst_cuda().CuEventSynchronize(event);
  }
}

GstMemory* wrap_cuda(const CudaContext& context, gpointer device, gsize bytes,
                     GstMiniObject* stream, GDestroyNotify notify, gpointer user_data) {
  const GstVideoInfo info = one_line(bytes);
  return gst_cuda().allocator_alloc_wrapped(
      nullptr, cast(context), reinterpret_cast<GstCudaStream*>(stream), &info,
      reinterpret_cast<CUdeviceptr>(device), user_data, notify);
}

std::string cuda_error_name(int result) {
  const char* name = nullptr;
  return gst_cuda().CuGetErrorName(static_cast<CUresult>(result), &name) == CUDA_SUCCESS &&
                 name != nullptr
             ? name
             : "CUDA error " + std::to_string(result);
}

Result<CudaUploader> CudaUploader::create(CudaContext context) {
  KB_ASSIGN(const auto stream, gst_stream(context));
  return CudaUploader(std::move(context), stream);
}

Result<GstBuffer*> CudaUploader::upload(GstBuffer* data) const {
  GstMapInfo map;
  const gsize bytes = gst_buffer_get_size(data);
  if (bytes == 0) return gst_buffer_ref(data);
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  if (bytes > kMaxCudaBytes || !gst_buffer_map(data, &map, GST_MAP_READ))
    return reject(
        ErrorKind::kTruncated,
        "A tensor of " + std::to_string(bytes) + " bytes cannot be mapped, or exceeds 2 GiB",
        "set memory=system");
  auto* stream = reinterpret_cast<GstCudaStream*>(stream_);
  CUdeviceptr device = 0;
  CUresult result = gst_cuda().CuMemAlloc(&device, static_cast<unsigned>(bytes));
  // A copy from pageable memory returns after the source has been read.
  if (result == CUDA_SUCCESS)
    result =
        gst_cuda().CuMemcpyHtoDAsync(device, map.data, bytes, gst_cuda().stream_get_handle(stream));
  gst_buffer_unmap(data, &map);
  if (result != CUDA_SUCCESS) {
    if (device != 0) gst_cuda().CuMemFree(device);
    return reject(ErrorKind::kNoResource,
                  "CUDA failed while uploading a tensor of " + std::to_string(bytes) +
                      " bytes: " + cuda_error_name(result),
                  "free device memory, or set memory=system");
  }
  auto* const piece = reinterpret_cast<gpointer>(device);
  GstMemory* memory = wrap_cuda(context_, piece, bytes, stream_, free_device, piece);
  GST_MINI_OBJECT_FLAG_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, memory);
  return buffer;
}

namespace {

Status require_driver() {
  KB_TRY(require_cuda("use system memory"));
  if (cuda_driver().complete()) return {};
  return reject(ErrorKind::kNoResource, "The CUDA driver is older than CUDA 11.4",
                "install a newer driver");
}

std::unexpected<Error> refused(const std::string& subject, CUresult result, std::string hint) {
  return reject(ErrorKind::kNoResource,
                "CUDA failed while " + subject + ": " + cuda_error_name(result), std::move(hint));
}

struct ContextKey {
  CUcontext context = nullptr;
  int device = 0;
  friend auto operator<=>(const ContextKey&, const ContextKey&) = default;
};

bool is_on(CUcontext context, int device) {
  CUdevice its = -1;
  if (gst_cuda().CuCtxPushCurrent(context) != CUDA_SUCCESS) return false;
  const CUresult result = cuda_driver().current_device(&its);
  gst_cuda().CuCtxPopCurrent(nullptr);
  return result == CUDA_SUCCESS && its == device;
}

/// Returns the context for memory of pools and virtual addresses, which belongs only to a device.
Result<CUcontext> working_context(const DeviceData& lent, int device) {
  CUcontext context = nullptr;
  if (lent.ready == DeviceData::Ready::kAfterStream)
    cuda_driver().stream_context(static_cast<CUstream>(lent.ready_on), &context);
  else cuda_driver().current_context(&context);
  if (context != nullptr && is_on(context, device)) return context;
  return reject(
      ErrorKind::kInvalid,
      "The memory has no CUDA context, and " +
          (context == nullptr ? "there is no current one"
                              : "the current one is not of its device " + std::to_string(device)),
      "add the tensor on the thread that runs the model, or set KEEPBOX_READY_STREAM and "
      "the model's stream");
}

Result<ContextKey> key_of(const DeviceData& lent) {
  const auto address = reinterpret_cast<CUdeviceptr>(lent.data);
  unsigned type = 0, managed = 0;
  ContextKey place;
  const auto ask = [&](CUpointer_attribute what, void* answer) {
    return cuda_driver().pointer_attribute(answer, what, address);
  };
  const CUresult known = ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &type);
  ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, &managed);
  if (known != CUDA_SUCCESS || (type == CU_MEMORYTYPE_HOST && managed == 0))
    return reject(ErrorKind::kInvalid,
                  "The data is not in CUDA memory, but " +
                      (known == CUDA_SUCCESS
                           ? "in pinned host memory"
                           : "at an address unknown to CUDA (" + cuda_error_name(known) + ")"),
                  "set memory to KEEPBOX_MEMORY_SYSTEM for host data");
  if (const CUresult result = ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, &place.device);
      result != CUDA_SUCCESS)
    return refused("finding the device of the data", result, "see nvidia-smi");
  if (ask(CU_POINTER_ATTRIBUTE_CONTEXT, &place.context) == CUDA_SUCCESS && place.context != nullptr)
    return place;
  KB_ASSIGN(auto context, working_context(lent, place.device));
  place.context = context;
  return place;
}

/// Shares one GstCudaContext per place while it is in use, because elements compare contexts by
/// address. Not longer, because applications destroy theirs, and libgstcuda visits all existing
/// ones.
Result<CudaContext> shared_context(const ContextKey& place) {
  static std::mutex lock;
  static auto& known = *new std::map<ContextKey, GWeakRef>;  // GObjects may outlive static objects
  const std::lock_guard guard(lock);
  const auto [entry, added] = known.try_emplace(place);
  if (added) g_weak_ref_init(&entry->second, nullptr);
  CudaContext context = CudaContext::taken(g_weak_ref_get(&entry->second));
  if (context) return context;
  context = CudaContext::taken(gst_cuda().context_new_wrapped(place.context, place.device));
  if (!context)
    return reject(ErrorKind::kNoResource, "GStreamer rejects the CUDA context",
                  "see GST_DEBUG=cudacontext:6");
  g_weak_ref_set(&entry->second, context.get());
  return context;
}

/// Objects that are released together with the memory.
struct WrappedMemory {
  GDestroyNotify notify;
  gpointer user_data;
  CUevent event = nullptr;  // our own event
};

/// Releases the loan in the memory's context, which the allocator makes current.
void give_back(gpointer data) {
  auto* loan = static_cast<WrappedMemory*>(data);
  if (loan->event != nullptr) gst_cuda().CuEventDestroy(loan->event);
  if (loan->notify != nullptr) loan->notify(loan->user_data);
  delete loan;
}

/// Records an event after the current work of a stream.
Result<CUevent> record(CUstream stream) {
  CUevent event = nullptr;
  CUresult result = gst_cuda().CuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) result = gst_cuda().CuEventRecord(event, stream);
  if (result == CUDA_SUCCESS) return event;
  if (event != nullptr) gst_cuda().CuEventDestroy(event);
  return refused("recording an event on the stream, which must be of the data's context", result,
                 "set ready_on to the stream that writes the tensor");
}

/// Retains a device's primary context once and permanently, so that later calls return the same
/// one.
Result<CUcontext> retained(int device) {
  static std::mutex lock;
  static std::map<int, CUcontext> known;
  const std::lock_guard guard(lock);
  if (const auto found = known.find(device); found != known.end()) return found->second;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  CUresult result = cuda_driver().init(0);
  if (result == CUDA_SUCCESS) result = cuda_driver().device_get(&handle, device);
  if (result == CUDA_SUCCESS) result = cuda_driver().primary_retain(&context, handle);
  if (result != CUDA_SUCCESS)
    return refused("retaining the primary context of device " + std::to_string(device), result,
                   "set a different device-id=, or see nvidia-smi");
  return known[device] = context;
}

}  // namespace

Result<CudaContext> primary_context(int device) {
  KB_TRY(require_driver());
  KB_ASSIGN(const auto context, retained(device));
  return shared_context({context, device});
}

Result<GstMemory*> wrap_device_data(const DeviceData& lent, GDestroyNotify notify,
                                    gpointer user_data) {
  KB_TRY(require_driver());
  if (lent.bytes > kMaxCudaBytes)
    return reject(ErrorKind::kInvalid,
                  "A tensor of " + std::to_string(lent.bytes) + " bytes exceeds 2 GiB",
                  "split the tensor");
  KB_ASSIGN(const auto place, key_of(lent));
  KB_ASSIGN(const auto context, shared_context(place));
  const CudaScope scope(context);
  KB_TRY(scope.status());
  CUevent ready = static_cast<CUevent>(lent.ready_on);
  const bool own = lent.ready == DeviceData::Ready::kAfterStream;
  if (own) {
    KB_ASSIGN(const auto event, record(static_cast<CUstream>(lent.ready_on)));
    ready = event;
  }
  GstMemory* memory = wrap_cuda(context, lent.data, lent.bytes, nullptr, give_back,
                                new WrappedMemory{notify, user_data, own ? ready : nullptr});
  GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
  if (lent.ready != DeviceData::Ready::kNow)
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), g_quark_from_string(kReadyEvent), ready,
                              nullptr);
  return memory;
}

}  // namespace keepbox
