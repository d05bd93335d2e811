// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that compute the payload of kept boxes.
#pragma once

#include "core/formula/keypoint.h"
#include "core/formula/mask.h"
#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

/// Kept boxes of all images, as the kernels of the frame write them out.
struct KeptBoxes {
  const Control* control = nullptr;  // one per image
  const Header* headers = nullptr;   // one per image
  BoxOutput boxes;                   // `stride` per image
  uint32_t stride = 0;
  bool packed = false;  // the host has removed the empty ones: those of the device are old
};

/// Report of the end of a launch to the host.
struct Report {
  uint32_t* arrived = nullptr;  // device memory, counts the blocks
  uint32_t* done = nullptr;     // host memory, set to `sequence`
  uint32_t sequence = 0;
};

/// Values and keypoints of all images.
struct ValueArgs {
  SegmentTable segments;
  KeptBoxes kept;
  Moves moves = Moves::kFixed;
  uint32_t each = 0;  // values per box
  KeypointRules keypoints;
  float* values = nullptr;  // host memory, kept.stride boxes per image
  Report report;
};

/// Reads the values of boxes, and maps keypoints to the frame. Leaves out images whose boxes are
/// not complete: those that the frame kernel leaves to others, and those with empty boxes if they
/// are not packed. @param expected number of boxes per image.
cudaError_t launch_values(const DevicePlan& plan, const ValueArgs& args, uint32_t images,
                          uint32_t expected, cudaStream_t stream);

/// Sizes of the masks of an image.
struct MaskTotals {
  uint32_t boxes = 0, words = 0;
};

/// Masks of one image. Offsets and data of fields are those of `segments`.
struct MaskArgs {
  SegmentTable segments;
  const Detection* boxes = nullptr;  // may be in host memory
  uint32_t count = 0, image = 0;     // boxes
  MaskRules rules;
  LoadKind prototypes = LoadKind::kAny;
  float* factors = nullptr;            // device memory for coefficients
  const MaskRect* places = nullptr;    // device memory
  const MaskTotals* totals = nullptr;  // device memory: has the number of boxes; null: `count`
  MaskOutput out;                      // at the rectangles' offsets
  // Words to copy to the device before the masks, by launch_factors():
  const uint32_t* host_words = nullptr;
  uint32_t* device_words = nullptr;
  uint32_t words = 0;
};

/// Reads the coefficients of boxes.
cudaError_t launch_factors(const DevicePlan& plan, const MaskArgs& args, cudaStream_t stream);

/// Computes the masks, after their coefficients, or the sums that launch_enlarge() reads.
/// @param expected number of boxes.
cudaError_t launch_masks(const DevicePlan& plan, const MaskArgs& args, uint32_t expected,
                         cudaStream_t stream);

/// Result of launch_places(), in host memory.
struct Placed {
  MaskTotals totals;
  uint32_t declined = 0;  // 1: not enough memory, or the boxes are not complete
};

/// Rectangles of the masks of one image, computed on the device.
struct PlaceArgs {
  SegmentTable segments;
  KeptBoxes kept;
  MaskRules rules;
  MaskScale scale;
  MaskTotals capacity;
  float* factors = nullptr;
  MaskRect* places = nullptr;       // device memory
  MaskRect* host_places = nullptr;  // the same for the host
  MaskTotals* totals = nullptr;     // device memory; 0 if declined
  Placed* result = nullptr;
};

/// Reads the coefficients of boxes and computes the rectangles of their masks in the prototypes,
/// unless it sets Placed::declined. @param expected number of boxes.
cudaError_t launch_places(const DevicePlan& plan, const PlaceArgs& args, uint32_t expected,
                          cudaStream_t stream);

/// Bits of one image's masks to copy to the host.
struct SendArgs {
  const MaskTotals* totals = nullptr;
  const uint32_t* bits = nullptr;
  uint32_t* host_bits = nullptr;
  Report report;
};

/// Copies as many words as there are, which the host does not know yet.
cudaError_t launch_send(const SendArgs& args, cudaStream_t stream);

/// Rows of a mask that a warp enlarges.
inline constexpr uint32_t kWarpRows = 32;

/// Masks of one image to enlarge. Pointers are to memory of the device.
struct EnlargeArgs {
  MaskAxis columns, rows;
  const MaskRect* from = nullptr;  // rectangles of the sums
  const float* sums = nullptr;
  const MaskRect* places = nullptr;
  const uint32_t* first_part = nullptr;  // per mask, and the number of all: a part is a word wide
                                         // and kWarpRows high
  uint32_t count = 0, parts = 0;
  uint32_t* bits = nullptr;
};

/// Enlarges masks to the resolution of the frame.
cudaError_t launch_enlarge(const EnlargeArgs& args, cudaStream_t stream);

}  // namespace keepbox::cuda
