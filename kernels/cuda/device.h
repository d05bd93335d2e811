// SPDX-License-Identifier: LGPL-2.1-or-later
// What passes between the host and the kernels: plain data, and the launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/box.h"
#include "core/coding.h"
#include "core/element.h"

namespace keepbox::cuda {

/// How numbers are read: those that are aligned and not quantised at full speed.
enum class Numbers : uint8_t {
  kFloat,  // float32
  kHalf,   // float16 or bfloat16
  kAny,
};

/// core's Field with its tensor's data.
struct DeviceField {
  const std::byte* data = nullptr;                 // of the first channel of the first anchor
  size_t image_stride = 0;                         // bytes
  uint32_t anchor_stride = 0, channel_stride = 0;  // elements
  float scale = 1, zero_point = 0;
  DataType type = DataType::kFloat32;
  uint8_t element = 0;  // bytes
  bool present = false;
  Numbers numbers = Numbers::kAny;
};

/// How a block goes through the anchors.
enum class Scan : uint8_t {
  kRows,    // a warp an anchor: class scores lie side by side
  kPlanes,  // a lane an anchor: anchors lie side by side
  kReady,   // a thread an anchor: one score each
};

/// core's Plan for the device. What every anchor wants comes first: a kernel's parameters arrive a
/// cache line at a time.
struct DevicePlan {
  Scan scan = Scan::kReady;
  NmsMethod method = NmsMethod::kGreedy;
  bool plain_overlap = false;  // overlap without conventions of a contract
  bool uniform = false;        // one threshold, every class wanted
  uint32_t anchors = 0, classes = 0, first_class = 0, end_class = 0, class_ids = 0;
  float lowest_threshold = 0;
  float iou_threshold = 0;
  uint32_t max_detections = 0;
  uint32_t top_k = 0;
  uint32_t best_high = 0, bin_shift = 0;  // of ByScore in bins.cuh
  ScoreRules score_rules;
  DeviceField objectness, scores, box, score, class_id, count;
  BoxRules box_rules;
  const Prior* priors = nullptr;
  const float* class_threshold = nullptr;  // class_ids of them
  const uint8_t* class_wanted = nullptr;
  NmsContract contract;
  float per_pixel_x = 0, per_pixel_y = 0;  // of the model's input: for crowds only

  /// Most boxes that NMS keeps of one image, where its limit is not for each class on its own.
  KB_HD uint32_t limit() const { return contract.per_class_limit ? anchors : max_detections; }
};

enum class State : uint32_t {
  kDone,  // boxes are there
  kMore,  // candidates are too many or too alike for the frame kernel's last block
};

/// What the host learns of an image; it holds once `sequence` is the run's.
struct Header {
  uint32_t sequence = 0;
  State state = State::kDone;
  uint32_t anchors = 0, above_threshold = 0, not_finite = 0;
  uint32_t candidates = 0;
  uint32_t kept = 0;
  uint32_t reserved = 0;
};

/// Counters of an image that blocks share. The last block leaves them at 0.
struct Control {
  uint32_t taken = 0;  // places in the image's list
  uint32_t not_finite = 0;
  uint64_t tally = 0;  // packed: see tally.cuh
};

/// Candidates of one image, or kept ones: two arrays.
struct Boxes {
  uint64_t* keys = nullptr;
  float4* boxes = nullptr;
};

/// The frame kernel's memory.
struct FrameArgs {
  Control* control = nullptr;  // an image each
  Boxes candidates;            // plan.anchors an image
  Header* headers = nullptr;   // host memory, an image each
  uint64_t* out = nullptr;     // host memory: Candidate as 3 words, `out_stride` of them an image
  uint32_t out_stride = 0;
  uint32_t sequence = 0;
  uint32_t tail_capacity = 0;  // candidates that a last block takes on; 0: none
  uint32_t slices = 1;         // kPlanes: warps that share the classes of 32 anchors, a power of 2
};

/// Threads of a block of the frame kernel.
inline constexpr uint32_t kFrameThreads = 1024;

/// What a launch of the frame kernel asks of the device.
struct FrameShape {
  size_t shared_bytes = 0;     // dynamic, a block
  uint32_t tail_capacity = 0;  // candidates that a block can take on with it
};

/// As much as the current device has.
cudaError_t shape_frame(uint32_t class_ids, FrameShape* shape);

/// Decodes all images, and suppresses and writes out those that a last block can take on.
/// @param numbers of all fields.
cudaError_t launch_frame(const DevicePlan& plan, const FrameArgs& args, Numbers numbers, dim3 grid,
                         const FrameShape& shape, cudaStream_t stream);

/// Buffers of the slow path, for one image at a time.
struct SlowArgs {
  Boxes candidates;
  uint32_t count = 0;             // of candidates
  Boxes ordered;                  // the best top_k in order
  uint64_t* runs = nullptr;       // sorted chunks of keys, padded to whole ones
  uint32_t* run_index = nullptr;  // where they stand in `candidates`
  Boxes kept;
  uint32_t* words = nullptr;  // slow_words() of scratch
  Header* header = nullptr;
  uint64_t* out = nullptr;
  uint32_t sequence = 0;
};

/// Keys that a block sorts at once.
inline constexpr uint32_t kRun = 2048;

struct SortArgs {
  uint32_t best_high = 0, bin_shift = 0;  // the plan's
  Boxes from;
  uint32_t count = 0;
  Boxes to;
  uint32_t most = 0;           // of the first are written
  uint32_t* origin = nullptr;  // where each came from, if wanted
  uint64_t* runs = nullptr;
  uint32_t* run_index = nullptr;
  bool by_class = false;  // class before score
};

cudaError_t launch_sort(const SortArgs& args, cudaStream_t stream);

/// Sorts candidates into `ordered`.
cudaError_t launch_select(const DevicePlan& plan, const SlowArgs& args, cudaStream_t stream);

/// Words of scratch that launch_nms() wants for `count` ordered candidates.
size_t slow_words(NmsMethod method, uint32_t count);

/// Suppresses `ordered` and writes out what stays. @param blocks that run at the same time.
cudaError_t launch_nms(const DevicePlan& plan, const SlowArgs& args, uint32_t blocks,
                       cudaStream_t stream);

/// Loads the kernels that launch_select() and launch_nms() may need, which would else happen at the
/// first crowd, and takes milliseconds and memory.
cudaError_t load_slow_path();

/// Blocks of launch_nms() that the current device runs at the same time; 0: it cannot.
cudaError_t nms_blocks(uint32_t* blocks);

}  // namespace keepbox::cuda
