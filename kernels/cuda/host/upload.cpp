// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies the tables of a plan.
#include "kernels/cuda/host/upload.h"

namespace keepbox::cuda {

Status upload_tables(const Plan& plan, const Buffers& buffers, cudaStream_t stream) {
  const auto begin = [&](auto to, const auto& from) {
    return check(cudaMemcpyAsync(to.data(), from.data(), std::span(from).size_bytes(),
                                 cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
  };
  KB_TRY(begin(buffers.class_threshold, plan.class_threshold));
  KB_TRY(begin(buffers.class_wanted, plan.class_wanted));
  KB_TRY(begin(buffers.priors, plan.priors));
  KB_TRY(begin(buffers.levels, plan.levels));
  KB_TRY(begin(buffers.anchor_sizes, plan.anchor_sizes));
  KB_TRY(begin(buffers.size_limits, plan.size_limits));
  KB_TRY(begin(buffers.regions, plan.regions));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace keepbox::cuda
