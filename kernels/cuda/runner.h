// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs frames on its own stream: one launch and one wait, and more launches for many candidates. A
// tensor's ready_event is a cudaEvent_t here, and its ready_stream a cudaStream_t.
#pragma once

#include <vector>

#include "kernels/cuda/backend.h"
#include "kernels/cuda/host/buffers.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/payload/payload_stage.h"

namespace keepbox::cuda {

class CudaRunner final : public Runner {
 public:
  ~CudaRunner() override;
  Status prepare(const Plan& plan, MemorySpace memory, Path path, const Kernels& kernels);

  Status run(const Plan& plan, std::span<const TensorView> tensors, const Stop&) override;
  Status retune(const Plan& plan) override;
  Status enqueue(const Plan& plan, std::span<const TensorView> tensors,
                 const DeviceOutput& output) override;
  std::span<const Detection> detections(uint32_t image) const override;
  const Funnel& funnel(uint32_t image) const override { return funnels_[image]; }
  PayloadOutput payload(uint32_t image) const override { return payload_stage_.of(image); }

 private:
  Status allocate(const Plan& plan);
  Status upload_maps(const Plan& plan, uint32_t images);
  bool has_maps_of(const Plan& plan, uint32_t images) const;
  Status set_maps(const Plan& plan, uint32_t images, cudaStream_t stream);
  Status wait_for(const TensorView& tensor);
  Status bind(const Plan& plan, std::span<const TensorView> tensors);
  Status bind_frame(const Plan& plan, std::span<const TensorView> tensors, uint32_t frame);
  Status clear_counters(uint32_t images);
  Status follow(cudaStream_t stream);
  Status check_enqueue(const Plan& plan) const;
  Status enqueue_frame(const Plan& plan, uint32_t images, const DeviceOutput& output);
  Status run_frame(const Plan& plan, std::span<const TensorView> tensors);
  Status finish(const Plan& plan, uint32_t images);
  bool enqueues_ahead() const;
  Status enqueue_one_launch(uint32_t image, uint32_t expected);
  Status run_large_nms(uint32_t image);
  LargeArgs large_args(uint32_t image) const;
  DevicePlan plan_of(uint32_t image) const;
  template <class Arrived>
  Status wait_for_tensors(Arrived arrived);
  Status wait(std::span<Header> headers);
  void update_funnel(uint32_t image);
  std::span<Detection> output_slots(uint32_t image) const;
  void abandon();

  Stream stream_;
  cudaStream_t on_ = nullptr;    // of the current or last frame: stream_ or a caller's
  Event event_, begun_, ended_;  // the last one of the last frame that was only enqueued
  bool pending_ = false;         // that frame may be at work
  DeviceBlob device_;
  HostBlob host_;
  Staging staging_;
  std::vector<const std::byte*> data_;  // per tensor, on the device
  Buffers buffers_;
  DevicePlan plan_;
  std::vector<Letterbox> maps_;  // as in the buffers
  LoadKind load_kind_ = LoadKind::kAny;
  const Kernels* kernels_ = nullptr;
  FrameArgs args_;
  SegmentTable segments_;
  FrameGrid grid_;
  uint32_t nms_blocks_ = 0;
  uint32_t one_launch_blocks_ = 0;  // 0: one_launch() is not used
  uint32_t expected_ = 0;  // candidates of the last frame if one_launch() processed them; else 0
  uint32_t sequence_ = 0;
  uint32_t kept_capacity_ = 0;
  Path path_ = Path::kAny;
  uint32_t images_ = 0;             // of the last run
  bool clean_ = false;              // their control blocks are in the state that a frame leaves
  void* awaited_[2] = {};           // event and stream of the last tensor
  bool waits_for_tensors_ = false;  // the stream still waits for the tensors
  uint32_t slow_tensors_ = 0;       // frames in a row that waited long for them
  bool lost_ = false;               // the context was lost to an error
  std::vector<Funnel> funnels_;
  bool has_payload_ = false;
  CudaPayloadStage payload_stage_;
  std::vector<std::span<const Detection>> kept_;  // per image, for payload_stage_
};

}  // namespace keepbox::cuda
