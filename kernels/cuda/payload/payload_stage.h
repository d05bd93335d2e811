// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of kept boxes, computed on the device, and its memory, which grows with the masks.
#pragma once

#include <vector>

#include "core/formula/mask.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/payload.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/payload/payload.h"

namespace keepbox::cuda {

class CudaPayloadStage {
 public:
  /// @param kept boxes of all images. @param stream that all work will be on.
  Status prepare(const Plan& plan, const KeptBoxes& kept, cudaStream_t stream);

  /// Enqueues the payload of the boxes that the work on the stream will keep, if the host did not
  /// have to complete the boxes of the last frame. @param images of the run.
  Status begin(const Plan& plan, const DevicePlan& device_plan, const SegmentTable& segments,
               uint32_t images, cudaStream_t stream);

  /// Waits for the payload of all images, and computes what begin() did not.
  /// @param boxes per image of the run, in memory that the device can read.
  /// @param changed true if the host has completed or removed boxes after those that begin() saw.
  Status finish(const Plan& plan, const DevicePlan& device_plan, const SegmentTable& segments,
                std::span<const std::span<const Detection>> boxes, bool changed,
                cudaStream_t stream);

  PayloadOutput of(uint32_t image) const;

  /// Releases ownership of memory that was lost with its context.
  void abandon();

 private:
  /// Rectangles and boxes of one image, and where its part of the memory begins.
  struct Image {
    MaskRects places;
    std::vector<uint32_t> first_part;  // per mask, and the number of all parts; see EnlargeArgs
    size_t count = 0;                  // boxes
    size_t first_box = 0, first_word = 0, first_sum = 0, first_place = 0;

    size_t place_words() const;
  };
  /// Sizes of all images together.
  struct Totals {
    size_t boxes = 0, words = 0, sums = 0, place_words = 0;
  };
  /// Memory that both sides write to.
  struct HostState {
    uint32_t done = 0;  // sequence of the last report
    Placed placed;
  };
  /// Memory of the device.
  struct Counters {
    uint32_t arrived = 0;  // blocks
    MaskTotals totals;
  };

  HostState& host_state() const { return *reinterpret_cast<HostState*>(host_state_.get()); }
  Counters* counters() const { return reinterpret_cast<Counters*>(counters_.get()); }
  Report next_report();
  Status wait(cudaStream_t stream);
  Status enqueue_values(const Plan& plan, const DevicePlan& device_plan,
                        const SegmentTable& segments, bool packed, cudaStream_t stream);
  Status enqueue_masks(const Plan& plan, const DevicePlan& device_plan,
                       const SegmentTable& segments, cudaStream_t stream);
  bool adopt_placed_masks();
  Status run_masks(const Plan& plan, const DevicePlan& device_plan, const SegmentTable& segments,
                   std::span<const std::span<const Detection>> boxes, cudaStream_t stream);
  Totals place(const Plan& plan, std::span<const std::span<const Detection>> boxes);
  Status grow(const Totals& totals);
  void write_places();
  MaskArgs args_of(const Plan& plan, const SegmentTable& segments, uint32_t image) const;
  EnlargeArgs enlarge_args(const Plan& plan, uint32_t image) const;

  std::vector<Image> images_;
  uint32_t running_ = 0;  // of these, in the run
  KeptBoxes kept_;
  HostBlob host_state_;
  DeviceBlob counters_;
  HostBlob values_;     // except of masks
  size_t each_ = 0;     // values per box
  bool masks_ = false;  // of any resolution
  bool enlarged_ = false;
  bool ahead_ = true;   // begin() may enqueue
  bool begun_ = false;  // begin() has enqueued
  uint32_t sequence_ = 0;
  uint32_t expected_ = 0;  // boxes of the fullest image of the last frame
  // Per image, in words: the rectangles of bits, those of sums, and the first parts.
  HostBlob host_places_;
  DeviceBlob places_;
  DeviceBlob factors_, sums_, bits_;
  HostBlob host_bits_;
  Totals capacity_;
};

}  // namespace keepbox::cuda
