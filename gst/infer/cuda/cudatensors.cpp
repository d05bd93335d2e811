// SPDX-License-Identifier: LGPL-2.1-or-later
// Hands out a model's outputs with their ready events, and takes their memory back.
#include "gst/infer/cuda/cudatensors.h"

#include <algorithm>
#include <utility>

#include "gst/tensors/cudawrap.h"
#include "gst/tensors/gstcuda.h"

namespace keepbox {
namespace {

void release_tensor(gpointer tensor) { delete static_cast<std::shared_ptr<CudaTensor>*>(tensor); }

}  // namespace

Result<CudaTensorPool::PooledMemory> CudaTensorPool::take(size_t bytes) {
  {
    const std::lock_guard guard(lock_);
    const auto fits = [&](const PooledMemory& piece) { return piece.memory.bytes() == bytes; };
    const auto found = std::ranges::find_if(free_, fits);
    if (found != free_.end()) {
      PooledMemory piece = std::move(*found);
      std::swap(*found, free_.back());
      free_.pop_back();
      return piece;
    }
  }
  KB_ASSIGN(auto ready, make_event(context_, EventUse::kOrder));
  PooledMemory piece{.ready = std::move(ready)};
  if (bytes == 0) return piece;
  KB_ASSIGN(auto memory, allocate(context_, bytes));
  piece.memory = std::move(memory);
  return piece;
}

void CudaTensorPool::give_back(PooledMemory piece) {
  const std::lock_guard guard(lock_);
  free_.push_back(std::move(piece));
}

/// Copies an output of a graph, which writes to a fixed place, while tensors may be kept for long.
Result<std::shared_ptr<CudaTensor>> CudaTensor::create(std::shared_ptr<void> owner,
                                                       CudaTensorPool& pieces,
                                                       const CudaSession& session,
                                                       CudaOutput output) {
  std::shared_ptr<CudaTensor> out(new CudaTensor(std::move(owner), pieces, session));
  const bool copied = output.value == nullptr;
  KB_ASSIGN(auto piece, pieces.take(copied ? output.bytes : 0));
  out->piece_ = std::move(piece);
  out->value_ = std::move(output.value);
  out->data_ = copied ? out->piece_.memory.get() : output.data;
  out->type_ = output.type;
  out->shape_ = output.shape;
  out->bytes_ = output.bytes;
  if (copied) {
    // A tensor that was dropped may still be written, on the stream of another size.
    KB_TRY(cuda_status(cuda_driver().stream_wait(session.stream(), out->piece_.ready.get(), 0),
                       "ordering streams"));
    KB_TRY(cuda_status(cuda_driver().copy(out->data_, output.data, output.bytes, session.stream()),
                       "copying a tensor"));
  }
  KB_TRY(cuda_status(cuda_driver().event_record(out->piece_.ready.get(), session.stream()),
                     "recording an event"));
  return out;
}

Result<std::shared_ptr<CudaTensor>> CudaTensor::joined(std::shared_ptr<void> owner,
                                                       CudaTensorPool& pieces,
                                                       const CudaSession& session, CUstream stream,
                                                       std::vector<OwnedBuffer> parts) {
  const CudaDriver& cuda = cuda_driver();
  std::shared_ptr<CudaTensor> out(new CudaTensor(std::move(owner), pieces, session));
  out->parts_ = std::move(parts);
  for (const OwnedBuffer& each : out->parts_) out->bytes_ += gst_buffer_get_size(each.get());
  KB_ASSIGN(out->piece_, pieces.take(out->bytes_));
  out->data_ = out->piece_.memory.get();
  size_t at = 0;
  for (const OwnedBuffer& each : out->parts_) {
    const size_t bytes = gst_buffer_get_size(each.get());
    if (bytes == 0) continue;
    GstMapInfo map;
    if (!gst_buffer_map(each.get(), &map, kReadCuda))
      return reject(ErrorKind::kNoResource, "The tensors of the tiles are on several GPUs",
                    "set batch-size=1 or provider=cpu");
    GstMemory* const memory = gst_buffer_peek_memory(each.get(), 0);
    const auto ready = static_cast<CUevent>(gst_mini_object_get_qdata(
        GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string(kReadyEvent)));
    Status copied = cuda_status(cuda.stream_wait(stream, ready, 0), "ordering streams");
    if (copied)
      copied = cuda_status(
          cuda.copy(out->data_ + at, reinterpret_cast<CUdeviceptr>(map.data), bytes, stream),
          "copying a tensor");
    gst_buffer_unmap(each.get(), &map);
    KB_TRY(copied);
    at += bytes;
  }
  const CUevent ready = out->piece_.ready.get();
  KB_TRY(cuda_status(cuda.event_record(ready, stream), "recording an event"));
  KB_TRY(cuda_status(cuda.stream_wait(gst_stream_handle(session.tensors_stream()), ready, 0),
                     "ordering streams"));
  return out;
}

CudaTensor::~CudaTensor() {
  if (!parts_.empty() && piece_.ready.get() != nullptr) {
    // Other streams write to the memory of the parts, and to that of the tensor, once it is free.
    const CudaScope scope(session_.context());
    (void)cuda_driver().event_synchronize(piece_.ready.get());
  }
  value_.reset();
  if (piece_.ready.get() != nullptr) pieces_.give_back(std::move(piece_));
}

Result<OwnedBuffer> CudaTensor::wrapped(const std::shared_ptr<CudaTensor>& tensor, size_t offset,
                                        size_t bytes) {
  OwnedBuffer out(gst_buffer_new());
  if (bytes == 0) return out;
  if (bytes > kMaxCudaBytes)
    return reject(ErrorKind::kUnsupported,
                  "An output has " + std::to_string(bytes) + " bytes, more than 2 GiB",
                  "export the model with smaller outputs");
  // Consumers that ignore the event have the stream. NEED_SYNC would wait for later runs.
  GstMemory* memory = wrap_cuda(
      tensor->session_.context(), reinterpret_cast<gpointer>(tensor->data_ + offset), bytes,
      tensor->session_.tensors_stream(), release_tensor, new std::shared_ptr<CudaTensor>(tensor));
  GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string(kReadyEvent),
                            tensor->piece_.ready.get(), nullptr);
  gst_buffer_append_memory(out.get(), memory);
  return out;
}

}  // namespace keepbox
