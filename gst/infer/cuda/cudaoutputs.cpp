// SPDX-License-Identifier: LGPL-2.1-or-later
// Hands out a model's outputs with their ready events, and takes their memory back.
#include <algorithm>
#include <utility>

#include "gst/infer/cuda/cudamodel.h"

namespace keepbox {

/// Objects that are returned when a tensor's memory is freed.
struct CudaModel::Lent {
  std::shared_ptr<CudaModel> model;
  Piece piece;      // our own memory, with its event
  OnnxValue value;  // or the runtime's memory
};

Result<std::vector<InferredTensor>> CudaModel::taken_outputs(Slot& slot) {
  std::vector<InferredTensor> out;
  const auto take = [&](Result<InferredTensor> tensor) -> Status {
    if (!tensor) return std::unexpected(tensor.error());
    out.push_back(std::move(*tensor));
    return {};
  };
  if (graph_) {
    for (const Fixed& output : slot.outputs) KB_TRY(take(copied(output)));
    return out;
  }
  auto outputs = bound_outputs(slot);
  if (!outputs) return std::unexpected(outputs.error());
  for (OnnxOutput& output : *outputs) KB_TRY(take(handed_out(std::move(output))));
  return out;
}

/// Copies an output of the graph, which writes to a fixed place, while tensors may be kept for
/// long.
Result<InferredTensor> CudaModel::copied(const Fixed& output) {
  auto piece = piece_of(output.bytes);
  if (!piece) return std::unexpected(piece.error());
  const CUdeviceptr data = piece->memory.get();
  KB_TRY(cuda_status(cuda_driver().copy(data, output.memory.get(), output.bytes, stream_.get()),
                     "a copy of a tensor"));
  auto lent =
      std::make_unique<Lent>(shared_from_this(), std::move(*piece), OnnxValue(nullptr, nullptr));
  auto tensor = wrapped(std::move(lent), data, output.bytes);
  if (!tensor) return tensor;
  tensor->type = output.type;
  tensor->shape = output.shape;
  return tensor;
}

Result<InferredTensor> CudaModel::handed_out(OnnxOutput output) {
  auto piece = piece_of(0);
  if (!piece) return std::unexpected(piece.error());
  const auto data = reinterpret_cast<CUdeviceptr>(output.data);
  auto lent =
      std::make_unique<Lent>(shared_from_this(), std::move(*piece), std::move(output.value));
  auto tensor = wrapped(std::move(lent), data, output.bytes);
  if (!tensor) return tensor;
  tensor->type = output.type;
  tensor->shape = output.shape;
  return tensor;
}

Result<InferredTensor> CudaModel::wrapped(std::unique_ptr<Lent> lent, CUdeviceptr data,
                                          size_t bytes) {
  InferredTensor out;
  out.data.reset(gst_buffer_new());
  if (bytes == 0) return out;
  if (bytes > kMaxCudaBytes)
    return fail(ErrorKind::kUnsupported, "tensors of up to 2 GiB", std::to_string(bytes) + " bytes",
                "export the model with smaller outputs");
  const CUevent ready = lent->piece.ready.get();
  KB_TRY(cuda_status(cuda_driver().event_record(ready, stream_.get()), "an event"));
  // Consumers that ignore the event have the stream. NEED_SYNC would wait for later runs.
  GstMemory* memory = wrap_cuda(context_, reinterpret_cast<gpointer>(data), bytes, tensors_ready_,
                                give_back, lent.release());
  GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string(kReadyEvent),
                            ready, nullptr);
  gst_buffer_append_memory(out.data.get(), memory);
  return out;
}

/// Returns a free piece of that size, or a new one; with 0 bytes it has only an event.
Result<CudaModel::Piece> CudaModel::piece_of(size_t bytes) {
  {
    const std::lock_guard guard(pieces_lock_);
    const auto fits = [&](const Piece& piece) { return piece.memory.bytes() == bytes; };
    const auto found = std::ranges::find_if(pieces_, fits);
    if (found != pieces_.end()) {
      Piece piece = std::move(*found);
      std::swap(*found, pieces_.back());
      pieces_.pop_back();
      return piece;
    }
  }
  auto ready = make_event(context_);
  if (!ready) return std::unexpected(ready.error());
  Piece piece{.ready = std::move(*ready)};
  if (bytes == 0) return piece;
  auto memory = allocate(context_, bytes);
  if (!memory) return std::unexpected(memory.error());
  piece.memory = std::move(*memory);
  return piece;
}

void CudaModel::give_back(gpointer data) {
  const std::unique_ptr<Lent> lent(static_cast<Lent*>(data));
  lent->value.reset();
  const std::lock_guard guard(lent->model->pieces_lock_);
  lent->model->pieces_.push_back(std::move(lent->piece));
}

}  // namespace keepbox
