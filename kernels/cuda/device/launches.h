// SPDX-License-Identifier: LGPL-2.1-or-later
// Interface between host and kernels: plain data, and launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/formula/numeric.h"
#include "core/formula/rules.h"
#include "core/run/output.h"

namespace keepbox {

struct Upright;
struct OrientedPolygon;
struct OrientedGaussian;

}  // namespace keepbox

namespace keepbox::cuda {

/// Ways to read values; aligned, unquantised types have fast paths.
enum class LoadKind : uint8_t {
  kFloat,  // float32
  kHalf,   // float16 or bfloat16
  kByte,   // int8 or uint8, quantised
  kAny,
};
inline constexpr size_t kLoadKinds = 4;

/// core's Field with a pointer to its data.
struct DeviceField {
  const std::byte* data = nullptr;  // first channel of the first anchor; null: absent
  size_t image_stride = 0;          // bytes
  uint32_t anchor_stride = 0, channel_stride = 0;  // elements
  float scale = 1, zero_point = 0;
  DataType type = DataType::kFloat32;
  uint8_t element = 0;  // bytes
  LoadKind load_kind = LoadKind::kAny;
};

/// Order in which a block processes anchors.
enum class Scan : uint8_t {
  kRows,      // half a warp per anchor: class scores are adjacent
  kPlanes,    // one lane per anchor: anchors are adjacent
  kReady,     // one thread per anchor: one score each
  kSegments,  // as kPlanes, segment by segment, with all rules
};

/// A segment of core's layout for kSegments. The data pointers of its fields are byte offsets into
/// tensors.
struct DeviceSegment {
  uint32_t first = 0, count = 0;  // anchors
  uint32_t first_chunk = 0;       // chunk index; a chunk is what a block processes at a time
  uint8_t tensors[kFieldCount] = {};
  DeviceField fields[kFieldCount];
};
inline constexpr uint32_t kMaxTensors = 24;

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kMaxBuckets = 128;
inline constexpr uint32_t kFrameThreads = 256;  // per block: small blocks are scheduled earlier
                                                // next to other kernels
inline constexpr uint32_t kFrameWarps = kFrameThreads / kWarp;
inline constexpr uint32_t kMaxBlocks = 2047;  // per image
inline constexpr uint32_t kGroupBuckets = 4;  // processed by a block at a time
inline constexpr uint32_t kMaxGroups = kMaxBuckets / kGroupBuckets;
inline constexpr uint32_t kBucketCapacity = 256;  // maximum candidates per bucket

/// Distribution of candidates by class: one list per class, or lists shared by classes.
struct Buckets {
  uint32_t count = 0;     // 0: candidates are not distributed
  uint32_t capacity = 0;  // candidates per bucket

  /// Returns the number of groups of buckets.
  KB_HD uint32_t groups() const { return (count + kGroupBuckets - 1) / kGroupBuckets; }
  KB_HD size_t group_capacity() const { return size_t{kGroupBuckets} * capacity; }
};

/// Data for kSegments only, kept out of the parameters of other kernels.
struct SegmentTable {
  const DeviceSegment* list = nullptr;
  uint32_t count = 0, chunks = 0;
  const std::byte* data[kMaxTensors] = {};  // of the tensors
};

/// Area around boxes: the largest of -x1, -y1, x2 and y2, by ascending() of boxes.cuh; 0 of none.
struct Extent {
  uint32_t most[4] = {};
};

/// core's Plan for the device. Kernel parameters are fetched one cache line at a time.
struct DevicePlan {
  Scan scan = Scan::kReady;
  Buckets buckets;
  Rules rules;
  DeviceField fields[kCommonFields];
  Tables tables;
  Letterbox letterbox;
  uint32_t best_high =
      0;  // for ByScore in kernels/cuda/device/boxes.cuh: upper half of a key with the best score
  uint32_t octaves = 1;                    // relevant octaves below it
  float per_pixel_x = 0, per_pixel_y = 0;  // reciprocals of the model input's sides; for large
                                           // numbers of candidates only
  const Extent* extent = nullptr;  // of boxes without a model input, likewise; null: there is one
  float* angles = nullptr;  // of oriented boxes: by anchor, image after image; single-image kernels
                            // get a pointer to their image
  const Letterbox* maps = nullptr;  // one per image, likewise; null: `letterbox` is that of all
                                    // images

  /// Returns the maximum number of boxes kept per image.
  KB_HD uint32_t limit() const { return rules.kept_capacity; }
};

enum class State : uint32_t {
  kDone,       // boxes are written
  kOneLaunch,  // boxes are written, by Kernels::one_launch
  kMore,       // candidates are too many or too similar for the frame kernel
};

/// Results of an image, valid once `sequence` is that of the run.
struct Header {
  uint32_t sequence = 0;
  State state = State::kDone;
  uint32_t anchors = 0, above_threshold = 0, not_finite = 0;
  uint32_t candidates = 0;
  uint32_t kept = 0;    // boxes written, including empty ones
  uint32_t empty = 0;   // of those, outside the frame or filtered out
  uint32_t chosen = 0;  // by launch_select(), if there is a class limit before suppression
};

/// Number of boxes while the host has work to do on them: to launch more kernels, or to remove
/// empty ones.
inline constexpr uint32_t kNotComplete = ~0u;

/// Counters of an image, shared by blocks. They are 0 between frames, except for the tally and the
/// numbers of boxes of the last frame.
struct Control {
  uint64_t tally[2] = {};  // see warp.cuh; alternate between frames because of late reads
  uint32_t taken = 0;      // used entries of the image's list
  uint32_t not_finite = 0;
  uint32_t finished = 0;           // groups of buckets with finished suppression
  uint32_t overflowed = 0;         // non-zero if a bucket overflowed
  uint32_t left = 0;               // candidates for other kernels to suppress, until the next frame
  uint32_t arrived = 0;            // blocks of one_launch() that have compared their share
  uint32_t complete = 0;           // number of boxes that were written out, or kNotComplete
  uint32_t kept[kMaxGroups] = {};  // per group
  uint32_t counts[kMaxBuckets] = {};
};

/// Candidates or kept boxes of one image: two arrays.
struct Boxes {
  uint64_t* keys = nullptr;
  float4* boxes = nullptr;

  KB_HD Boxes from(size_t first) const { return {keys + first, boxes + first}; }
};

/// Memory that boxes are written out to.
struct BoxOutput {
  Detection* host = nullptr;
  Detection* device = nullptr;  // the same, for the payload; may be null

  KB_HD BoxOutput from(size_t first) const {
    return {host + first, device == nullptr ? nullptr : device + first};
  }
};

/// Memory of the frame kernel.
struct FrameArgs {
  Control* control = nullptr;  // one per image
  Boxes candidates;            // rules.candidates per image
  Boxes bucketed;              // buckets.count * buckets.room per image
  Boxes kept;                  // likewise, per group of buckets
  Header* headers = nullptr;   // host memory, one per image
  BoxOutput out;               // `out_stride` per image
  uint32_t out_stride = 0;
  uint32_t sequence = 0;
  uint32_t tally_index = 0;  // alternates between 0 and 1 from frame to frame
  uint32_t limit = ~0u;      // candidates that the frame kernel suppresses itself
  uint32_t slices = 1;       // kPlanes: warps that share the classes of 32 anchors, a power of 2
  bool decode_only = false;  // other launches do the rest
  bool followed = false;     // one_launch() is enqueued after it, and reports what it processes
  long long max_wait_cycles = 0;  // cycles that a block waits for the others of its image
};

/// Buffers of the slow path, for one image at a time.
struct LargeArgs {
  Control* control = nullptr;
  Boxes candidates;
  uint32_t count = 0;             // number of candidates
  Boxes ordered;                  // the best pre_nms_top_k in order
  uint64_t* runs = nullptr;       // sorted chunks of keys, padded to full ones
  uint32_t* run_index = nullptr;  // their indices in `candidates`
  Boxes kept;
  uint32_t* words = nullptr;  // large_words() of scratch space
  Header* header = nullptr;
  BoxOutput out;
  uint32_t sequence = 0;
};

/// Arguments of Kernels::rest.
struct RestArgs {
  LargeArgs first;             // of the first image; boxes, header and count are set by the kernel
  Header* headers = nullptr;   // device memory, one per image
  Detection* boxes = nullptr;  // `stride` per image
  uint32_t* counts = nullptr;  // one per image
  OutputFunnel* funnels = nullptr;  // likewise, or null
  uint32_t stride = 0, images = 0;
};

/// Maps of images, as a kernel's parameters.
inline constexpr uint32_t kMapsAtOnce = 64;
struct MapsArgs {
  Letterbox maps[kMapsAtOnce];
  uint32_t count = 0;
};

/// Copies maps to device memory, without a wait of the host.
cudaError_t launch_set_maps(const MapsArgs& args, Letterbox* to, cudaStream_t stream);

/// Number of keys that a block sorts at once.
inline constexpr uint32_t kRun = 2048;

/// True for the numbers of candidates that one_launch() processes.
KB_HD constexpr bool fits_one_launch(uint32_t candidates) {
  return candidates != 0 && candidates <= kRun;
}

struct SortArgs {
  uint32_t best_high = 0, octaves = 1;  // of the plan
  Boxes from;
  uint32_t count = 0;
  Boxes to;
  uint32_t limit = 0;          // maximum number written
  uint32_t* origin = nullptr;  // index of each before sorting, if requested
  uint64_t* runs = nullptr;
  uint32_t* run_index = nullptr;
  bool by_class = false;  // class before score
};

cudaError_t launch_sort(const SortArgs& args, cudaStream_t stream);

/// Sorts candidates into `ordered`. If there is a class limit before suppression, the header has
/// the remaining number once `sequence` is set.
cudaError_t launch_select(const DevicePlan& plan, const LargeArgs& args, cudaStream_t stream);

/// Kernels that compare boxes of one geometry (core/formula/geometry.h).
struct Kernels {
  /// Decodes all images, and suppresses and writes out those without too many candidates.
  /// @param load_kind how to read all fields.
  /// @param segments for Scan::kSegments only.
  cudaError_t (*frame)(const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
                       LoadKind load_kind, dim3 grid, cudaStream_t stream);
  /// Suppresses what the frame kernel left, if that fits_one_launch(), and writes out the kept
  /// boxes. For rules that supports_one_launch() accepts. @param count expected number of
  /// candidates. @param blocks that run at the same time.
  cudaError_t (*one_launch)(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                            uint32_t blocks, cudaStream_t stream);
  /// Suppresses `ordered` and writes out the kept boxes. @param blocks that run at the same time.
  cudaError_t (*nms)(const DevicePlan& plan, const LargeArgs& args, uint32_t blocks,
                     cudaStream_t stream);
  /// Suppresses what the frame kernel left of all images, and writes the numbers of boxes.
  /// cudaErrorNotSupported for rules that need the host. @param blocks as of nms(), not 0.
  cudaError_t (*rest)(const DevicePlan& plan, const RestArgs& args, uint32_t blocks,
                      cudaStream_t stream);
  /// Loads all kernels of nms() and launch_select(), which would otherwise take milliseconds and
  /// memory on first use. @param blocks of nms() that run at the same time; 0: no cooperative
  /// launches.
  cudaError_t (*load)(uint32_t* blocks);
};

/// Returns the kernels of a geometry, which are compiled in a file of their own.
template <class Geometry>
const Kernels& kernels_of();
template <>
const Kernels& kernels_of<Upright>();
template <>
const Kernels& kernels_of<OrientedPolygon>();
template <>
const Kernels& kernels_of<OrientedGaussian>();

/// Returns the kernels for a plan's geometry.
const Kernels& kernels_for(const Rules& rules);

/// Returns the words of scratch space of nms() for `count` ordered candidates.
size_t large_words(NmsMethod method, uint32_t count);

/// True if a box dropped by class-top-k must not suppress boxes of other classes. Kernels that
/// resolve many boxes at once cannot tell which classes are full.
bool needs_sequential_nms(const Rules& rules);

/// True if the frame kernel performs suppression by these rules itself.
bool frame_kernel_supports(const Rules& rules);

/// True if Kernels::rest implements these rules.
bool supports_rest(const Rules& rules);

/// True if Kernels::one_launch implements these rules.
bool supports_one_launch(const Rules& rules);

}  // namespace keepbox::cuda
