// SPDX-License-Identifier: LGPL-2.1-or-later
// What passes between the host and the kernels: plain data, and the launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/box.h"
#include "core/element.h"
#include "core/letterbox.h"
#include "core/rules.h"

namespace keepbox::cuda {

/// How numbers are read: those that are aligned and not quantised at full speed.
enum class Numbers : uint8_t {
  kFloat,  // float32
  kHalf,   // float16 or bfloat16
  kByte,   // int8 or uint8, quantised
  kAny,
};
inline constexpr size_t kNumbers = 4;

/// core's Field with its tensor's data.
struct DeviceField {
  const std::byte* data = nullptr;  // of the first channel of the first anchor; null: there is none
  size_t image_stride = 0;          // bytes
  uint32_t anchor_stride = 0, channel_stride = 0;  // elements
  float scale = 1, zero_point = 0;
  DataType type = DataType::kFloat32;
  uint8_t element = 0;  // bytes
  Numbers numbers = Numbers::kAny;
};

/// How a block goes through the anchors.
enum class Scan : uint8_t {
  kRows,    // half a warp an anchor: class scores lie side by side
  kPlanes,  // a lane an anchor: anchors lie side by side
  kReady,   // a thread an anchor: one score each
  kPieces,  // as kPlanes, a segment after the other, with all rules that there are
};

/// A segment of core's layout for kPieces. Its fields' data are offsets, in bytes, into tensors.
struct DeviceSegment {
  uint32_t first = 0, count = 0;  // anchors
  uint32_t first_chunk = 0;       // of as many anchors as a block takes at a time
  uint8_t tensors[kParts] = {};
  DeviceField fields[kParts];
};
inline constexpr uint32_t kMostTensors = 24;

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kMostBuckets = 128;
inline constexpr uint32_t kFrameThreads = 256;  // of a block: beside other kernels small ones run
                                                // first
inline constexpr uint32_t kFrameWarps = kFrameThreads / kWarp;
inline constexpr uint32_t kMostBlocks = 2047;  // of an image
inline constexpr uint32_t kGroupBuckets = 4;  // of which a block takes care at once
inline constexpr uint32_t kMostGroups = kMostBuckets / kGroupBuckets;
inline constexpr uint32_t kBucketRoom = 256;  // candidates of a bucket, at most

/// Candidates by class: as many lists as classes, or classes share them.
struct Buckets {
  uint32_t count = 0;  // 0: candidates are not dealt out
  uint32_t room = 0;   // candidates of each

  /// Of buckets of which a block takes care at once, and the room of one.
  KB_HD uint32_t groups() const { return (count + kGroupBuckets - 1) / kGroupBuckets; }
  KB_HD size_t group_room() const { return size_t{kGroupBuckets} * room; }
};

/// What only kPieces has, in memory of its own kernels.
struct Pieces {
  const DeviceSegment* segments = nullptr;
  uint32_t count = 0, chunks = 0;
  const std::byte* data[kMostTensors] = {};  // of the tensors
};

/// core's Plan for the device. A kernel's parameters arrive a cache line at a time.
struct DevicePlan {
  Scan scan = Scan::kReady;
  Buckets buckets;
  Rules rules;
  DeviceField fields[kPartsOfMost];
  Tables tables;
  Letterbox letterbox;
  uint32_t best_high = 0;  // of ByScore in bins.cuh: upper half of a key with the best score
  uint32_t octaves = 1;    // below it that matter
  float per_pixel_x = 0, per_pixel_y = 0;  // of the model's input: for crowds only
  float* angles = nullptr;  // of turned boxes: by anchor, image after image. Kernels that have one
                            // image only are given its own

  /// Most boxes that suppression keeps of one image.
  KB_HD uint32_t limit() const { return rules.kept_capacity; }
};

enum class State : uint32_t {
  kDone,  // boxes are there
  kMore,  // candidates are too many or too alike for the frame kernel
};

/// What the host learns of an image; it holds once `sequence` is the run's.
struct Header {
  uint32_t sequence = 0;
  State state = State::kDone;
  uint32_t anchors = 0, above_threshold = 0, not_finite = 0;
  uint32_t candidates = 0;
  uint32_t kept = 0;   // boxes written, those without area among them
  uint32_t empty = 0;  // of those, outside the frame or not wanted there
  uint32_t chosen = 0;   // by launch_select(), where classes have a limit before suppression
};

/// Counters of an image that blocks share. Between frames they are 0, but for what the last one
/// left in its tally and numbers of kept boxes.
struct Control {
  uint64_t tally[2] = {};  // packed: see tally.cuh; of every other frame, for blocks may look late
  uint32_t taken = 0;     // places in the image's list
  uint32_t not_finite = 0;
  uint32_t finished = 0;  // groups of buckets that are suppressed
  uint32_t crowded = 0;   // is some bucket too small?
  uint32_t kept[kMostGroups] = {};  // of each group
  uint32_t counts[kMostBuckets] = {};
};

/// Candidates of one image, or kept ones: two arrays.
struct Boxes {
  uint64_t* keys = nullptr;
  float4* boxes = nullptr;

  KB_HD Boxes from(size_t first) const { return {keys + first, boxes + first}; }
};

/// The frame kernel's memory.
struct FrameArgs {
  Control* control = nullptr;  // an image each
  Boxes candidates;            // rules.candidates an image
  Boxes dealt;                 // buckets.count * buckets.room an image
  Boxes kept;                  // the same: of each group of buckets
  Header* headers = nullptr;   // host memory, an image each
  Detection* out = nullptr;    // host memory, `out_stride` an image
  uint32_t out_stride = 0;
  uint32_t sequence = 0;
  uint32_t turn = 0;    // 0 and 1 from frame to frame
  uint32_t slices = 1;  // kPlanes: warps that share the classes of 32 anchors, a power of 2
  bool decode_only = false;  // what comes after is for other launches
  long long patience = 0;  // cycles that a block waits for the others of its image
};

/// Buffers of the slow path, for one image at a time.
struct SlowArgs {
  Boxes candidates;
  uint32_t count = 0;             // of candidates
  Boxes ordered;                  // the best pre_nms_top_k in order
  uint64_t* runs = nullptr;       // sorted chunks of keys, padded to whole ones
  uint32_t* run_index = nullptr;  // where they stand in `candidates`
  Boxes kept;
  uint32_t* words = nullptr;  // slow_words() of scratch
  Header* header = nullptr;
  Detection* out = nullptr;
  uint32_t sequence = 0;
};

/// Keys that a block sorts at once.
inline constexpr uint32_t kRun = 2048;

struct SortArgs {
  uint32_t best_high = 0, octaves = 1;  // the plan's
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

/// Sorts candidates into `ordered`. Where classes have a limit before suppression, the header says
/// how many are left, once `sequence` is there.
cudaError_t launch_select(const DevicePlan& plan, const SlowArgs& args, cudaStream_t stream);

/// The kernels that compare boxes, of one geometry (core/geometry.h).
struct Kernels {
  /// Decodes all images, and suppresses and writes out those that are no crowd.
  /// @param numbers of all fields.
  /// @param pieces for Scan::kPieces only.
  cudaError_t (*frame)(const DevicePlan& plan, const FrameArgs& args, const Pieces& pieces,
                       Numbers numbers, dim3 grid, cudaStream_t stream);
  /// Suppresses `ordered` and writes out what stays. @param blocks that run at the same time.
  cudaError_t (*nms)(const DevicePlan& plan, const SlowArgs& args, uint32_t blocks,
                     cudaStream_t stream);
  /// Loads all that nms() and launch_select() may need, which would else happen at the first crowd,
  /// and takes milliseconds and memory. @param blocks of nms() that the device runs at a time; 0:
  /// its grids cannot wait for themselves.
  cudaError_t (*load)(uint32_t* blocks);
};

/// Of upright boxes, and of turned ones by both ways to overlap.
const Kernels& upright_kernels();
const Kernels& turned_polygon_kernels();
const Kernels& turned_gaussian_kernels();

/// Those for a plan's boxes.
const Kernels& kernels_for(const Rules& rules);

/// Words of scratch that nms() wants for `count` ordered candidates.
size_t slow_words(NmsMethod method, uint32_t count);

/// Does the frame kernel suppress by these rules itself?
bool in_frame(const Rules& rules);

}  // namespace keepbox::cuda
