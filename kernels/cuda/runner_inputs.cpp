// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes tensors and maps available to the kernels of a run.
#include <algorithm>
#include <string>

#include "core/plan/plan.h"
#include "kernels/cuda/host/upload.h"
#include "kernels/cuda/runner.h"

namespace keepbox::cuda {

/// Uploads the maps of images that have their own, and waits.
Status CudaRunner::upload_maps(const Plan& plan, uint32_t images) {
  maps_.clear();
  for (uint32_t i = 0; plan.has_maps() && i < images; ++i) maps_.push_back(plan.letterbox_of(i));
  return upload(buffers_.maps, maps_, stream_.get());
}

bool CudaRunner::has_maps_of(const Plan& plan, uint32_t images) const {
  if (!plan.has_maps()) return true;
  uint32_t same = 0;
  while (same < images && same < maps_.size() && maps_[same] == plan.letterbox_of(same)) ++same;
  return same == images;
}

Status CudaRunner::wait_for(const TensorView& tensor) {
  if (tensor.ready_event == awaited_[0] && tensor.ready_stream == awaited_[1]) return {};
  awaited_[0] = tensor.ready_event, awaited_[1] = tensor.ready_stream;
  void* event = tensor.ready_event;
  if (event == nullptr && tensor.ready_stream != nullptr && tensor.ready_stream != stream_.get()) {
    KB_TRY_CUDA(cudaEventRecord(event_.get(), static_cast<cudaStream_t>(tensor.ready_stream)));
    event = event_.get();
  }
  if (event == nullptr) return {};
  waits_for_tensors_ = true;
  return check(cudaStreamWaitEvent(stream_.get(), static_cast<cudaEvent_t>(event), 0),
               "cudaStreamWaitEvent");
}

Status CudaRunner::bind(const Plan& plan, std::span<const TensorView> tensors) {
  const uint32_t frames = plan.is_joint() ? plan.images_of(tensors) : 1;
  std::ranges::fill(awaited_, nullptr);
  for (uint32_t frame = 0; frame < frames; ++frame) {
    const auto own = plan.tensors_of(tensors, frame);
    KB_TRY(bind_frame(plan, own, frame));
    if (frame == 0 || own.front().space == MemorySpace::kSystem) continue;
    if (!are_adjacent(plan.tensors_of(tensors, frame - 1), own))
      return fail(ErrorKind::kMismatch, "tensors of frames one after the other in memory",
                  "others of frame " + std::to_string(frame));
  }
  load_kind_ = bind_fields(plan_, segments_, plan, plan.tensors_of(tensors, 0), data_);
  return {};
}

/// Makes a frame's tensors available to kernels. @param frame of a joint plan, or 0.
Status CudaRunner::bind_frame(const Plan& plan, std::span<const TensorView> tensors,
                              uint32_t frame) {
  const auto planned = [](const TensorForm& form, const TensorView& view) {
    return form.type == view.type && form.shape == view.shape;
  };
  if (!std::ranges::equal(plan.forms, tensors, planned))  // staging memory is for those
    return fail(ErrorKind::kMismatch, "tensors as planned", to_string(tensors));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(tensors[i].data);
    if (tensors[i].space == MemorySpace::kSystem) {
      KB_ASSIGN(data, staging_.upload(tensors[i], i, frame, stream_.get()));
    } else {
      KB_TRY(wait_for(tensors[i]));
    }
    if (frame == 0) data_[i] = data;
  }
  return {};
}

}  // namespace keepbox::cuda
