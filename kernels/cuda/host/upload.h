// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies what a plan has in host memory to a runner's device memory.
#pragma once

#include <span>

#include "kernels/cuda/host/buffers.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

/// Copies values, and waits. cudaMemcpy() may return before a copy from pageable memory is
/// complete.
/// @pre `to` is at least as long.
template <class T>
Status upload(std::span<T> to, std::span<const std::type_identity_t<T>> from, cudaStream_t stream) {
  KB_TRY_CUDA(
      cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// Copies the tables of a plan, and waits.
Status upload_tables(const Plan& plan, const Buffers& buffers, cudaStream_t stream);

}  // namespace keepbox::cuda
