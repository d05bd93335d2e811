// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the context of a pointer, and records when its content is ready.
#include "gst/tensors/cudawrap.h"

#include <map>
#include <mutex>

#include "gst/tensors/cudadriver.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/gstcuda.h"

namespace keepbox {
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
