// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes the payload of an image's kept boxes, in host memory.
#pragma once

#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "core/run/backend.h"
#include "core/run/masks.h"

namespace keepbox {

/// Assignment of candidates to kept boxes, for methods that compute means.
struct Owners {
  std::span<const Candidate> candidates;  // in key order
  std::span<const uint32_t> owner;        // index of the kept candidate, for each; empty: no means
  std::span<const uint32_t> kept;         // index of the candidate, per box
};

/// Output and memory of one image. Memory for masks grows as needed; everything else is allocated
/// by create().
class HostPayload {
 public:
  static Result<HostPayload> create(const Plan& plan);

  /// Computes the output. Returns kNoResource if there is no memory for masks.
  /// @param detections of the image, on the frame.
  Status run(const HostKernels& kernels, const Plan& plan, std::span<const TensorView> tensors,
             uint32_t image, std::span<const Detection> detections, const Owners& owners);

  /// Returns the output of the last run.
  PayloadOutput output() const { return {values_, places_.bits, words_}; }

 private:
  /// A frame to read with the kernels.
  struct Frame {
    const HostKernels& kernels;
    const Plan& plan;
    std::span<const TensorView> tensors;
    uint32_t image;
  };
  void read_mean(const Frame& read, const Owners& owners, uint32_t kept, std::span<float> out);
  Status make_masks(const Frame& read, std::span<const Detection> detections);

  ScratchBuffer<float> own_values_,
      value_scratch_;  // of all boxes; of one box that is merged into a mean
  std::span<const float> values_;
  MaskRects places_;
  ScratchBuffer<float> sums_;
  ScratchBuffer<uint32_t> bits_;
  const uint32_t* words_ = nullptr;  // of bits_
};

}  // namespace keepbox
