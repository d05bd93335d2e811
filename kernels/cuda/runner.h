// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs frames on a stream of its own: one launch and one wait, and more where the device asks for
// it.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/cuda/buffers.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/memory.h"

namespace keepbox::cuda {

class CudaRunner final : public Runner {
 public:
  ~CudaRunner() override;
  Status prepare(const Plan& plan, MemorySpace memory, Path path);

  Status run(const Plan& plan, std::span<const TensorView> tensors) override;
  Status retune(const Plan& plan) override;
  std::span<const Candidate> kept(uint32_t image) const override;
  const Funnel& funnel(uint32_t image) const override { return funnels_[image]; }

 private:
  Status allocate(const Plan& plan);
  Status allocate_staging(const Plan& plan);
  Status upload_tables(const Plan& plan);
  Status choose_grid();
  Status wait_for(const TensorView& tensor);
  Status stage(const TensorView& tensor, size_t index);
  Status bind(const Plan& plan, std::span<const TensorView> tensors);
  Status run_slowly(uint32_t image);
  Status wait(std::span<Header> headers);
  void trim_classes(const Plan& plan, uint32_t image);
  void take_counts(const Plan& plan, uint32_t image);

  Stream stream_;
  Event event_;
  DeviceBlob device_, staging_device_;
  HostBlob host_, staging_host_;
  std::vector<size_t> staging_at_;      // of each tensor in the staging blobs
  std::vector<const std::byte*> data_;  // of each tensor on the device
  Buffers buffers_;
  DevicePlan plan_;
  Numbers numbers_ = Numbers::kAny;
  FrameArgs args_;
  FrameShape shape_;
  dim3 grid_;
  uint32_t nms_blocks_ = 0;
  uint32_t sequence_ = 0;
  uint32_t kept_capacity_ = 0;
  bool clean_ = false;  // the control blocks are 0
  std::vector<Funnel> funnels_;
  std::vector<uint32_t> of_class_;  // kept so far, while classes are trimmed
};

}  // namespace keepbox::cuda
