// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of kept boxes, computed on the device, and its memory, which grows with the masks.
#pragma once

#include <vector>

#include "core/formula/mask.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/payload/payload.h"

namespace keepbox::cuda {

class CudaPayloadStage {
 public:
  Status prepare(const Plan& plan);

  /// Computes the payload of all images, after the work already on the stream, and waits.
  /// @param boxes per image, in memory that the device can read.
  Status run(const Plan& plan, const DevicePlan& device_plan, const Pieces& pieces,
             std::span<const std::span<const Detection>> boxes, cudaStream_t stream);

  PayloadOutput of(uint32_t image) const;

  /// Releases ownership of memory that was lost with its context.
  void abandon();

 private:
  size_t place(const Plan& plan, std::span<const std::span<const Detection>> boxes);
  Status grow(size_t boxes, size_t bytes);
  GatherArgs args_of(const Plan& plan, const Pieces& pieces, uint32_t image) const;

  struct Image {
    std::vector<MaskPlace> places;
    size_t first_box = 0, first_pixel = 0, count = 0;
  };
  std::vector<Image> images_;
  HostBlob values_;                      // except of masks
  size_t each_ = 0, kept_capacity_ = 0;  // values per box; boxes per image
  HostBlob host_places_, host_masks_;
  DeviceBlob places_, factors_, masks_;
  size_t box_room_ = 0, byte_room_ = 0;
  bool numbers_ = false;
};

}  // namespace keepbox::cuda
