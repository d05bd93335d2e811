// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies tensors by pinned memory.
#include "kernels/cuda/host/staging.h"

#include <cstring>
#include <utility>

#include "core/run/workspace.h"

namespace keepbox::cuda {

Status Staging::allocate(const Plan& plan) {
  const size_t frames = plan.is_joint() ? plan.frames() : 1;
  size_t bytes = 0;
  for (const TensorForm& form : plan.forms) {
    KB_ASSIGN(const size_t count, form.shape.count());
    offsets_.push_back(bytes);
    bytes += (frames * count * size_of(form.type) + Carver::kAlignment - 1) / Carver::kAlignment *
             Carver::kAlignment;
  }
  KB_ASSIGN(device_, allocate_device(bytes + 1));
  KB_ASSIGN(host_, allocate_host(bytes + 1));
  return {};
}

Result<const std::byte*> Staging::upload(const TensorView& tensor, size_t index, uint32_t frame,
                                         cudaStream_t stream) {
  if (host_ == nullptr)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda cannot read these tensors in system memory", "set backend=auto");
  const size_t bytes = *tensor.shape.count() * size_of(tensor.type);
  const size_t offset = offsets_[index] + frame * bytes;
  std::byte* const to = device_.get() + offset;
  std::byte* const pinned = host_.get() + offset;
  if (bytes != 0) std::memcpy(pinned, tensor.data, bytes);
  KB_TRY_CUDA(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, stream));
  return to;
}

void Staging::abandon() {
  (void)device_.release();
  (void)host_.release();
}

}  // namespace keepbox::cuda
