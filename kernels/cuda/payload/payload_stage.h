// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of kept boxes, computed on the device, and its memory, which grows with the masks.
#pragma once

#include <vector>

#include "core/formula/mask.h"
#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/masks.h"
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
  /// Rectangles and boxes of one image, and where its part of the memory begins.
  struct Image {
    MaskPlaces places;
    std::vector<uint32_t> first_part;  // per mask, and the number of all parts; see EnlargeArgs
    size_t count = 0;                  // boxes
    size_t first_box = 0, first_word = 0, first_sum = 0, first_place = 0;

    size_t place_words() const;
  };
  /// Sizes of all images together.
  struct Totals {
    size_t boxes = 0, words = 0, sums = 0, place_words = 0;
  };

  Totals place(const Plan& plan, std::span<const std::span<const Detection>> boxes);
  Status grow(const Totals& totals);
  void write_places();
  GatherArgs args_of(const Plan& plan, const Pieces& pieces, uint32_t image) const;
  EnlargeArgs enlarge_args(const Plan& plan, uint32_t image) const;

  std::vector<Image> images_;
  HostBlob values_;                      // except of masks
  size_t each_ = 0, kept_capacity_ = 0;  // values per box; boxes per image
  bool enlarged_ = false;
  // Per image, in words: the rectangles of bits, those of sums, and the first parts.
  HostBlob host_places_;
  DeviceBlob places_;
  DeviceBlob factors_, sums_, bits_;
  HostBlob host_bits_;
  Totals room_;
};

}  // namespace keepbox::cuda
