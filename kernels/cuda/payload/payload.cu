// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of kept boxes: sums with one thread per prototype pixel, which keeps its values for all
// boxes; enlarged masks with a thread per column of 32 rows.
#include <algorithm>

#include "kernels/cuda/device/boxes.cuh"
#include "kernels/cuda/device/field_reader.cuh"
#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/payload/payload.h"

namespace keepbox::cuda {

// Shared by the kernels: the values of kept boxes, and the report to the host.

inline constexpr uint32_t kPayloadThreads = 128;

/// Reads values of any type, from segments, for the templates of core/formula/score.h.
struct PayloadReader {
  const Rules& rules;
  const Tables& tables;
  const SegmentTable& segments;
  const DeviceSegment& segment;
  uint32_t image;

  __device__ PayloadReader(const DevicePlan& plan, const SegmentTable& from,
                           const DeviceSegment& of, uint32_t number)
      : rules(plan.rules), tables(plan.tables), segments(from), segment(of), image(number) {}

  __device__ const DeviceField& field(FieldId id) const {
    return segment.fields[static_cast<uint32_t>(id)];
  }
  __device__ bool has(FieldId id) const { return field(id).element != 0; }
  __device__ const std::byte* first(FieldId id) const {
    const DeviceField& from = field(id);
    return segments.data[segment.tensors[static_cast<uint32_t>(id)]] +
           reinterpret_cast<size_t>(from.data) + image * from.image_stride;
  }
  __device__ float get(FieldId id, uint32_t anchor, uint32_t channel = 0) const {
    const DeviceField& from = field(id);
    return AnyLoad::get(
        from, first(id) + size_t{anchor - segment.first} * from.anchor_stride * from.element,
        channel * from.channel_stride);
  }
};

__device__ inline const DeviceSegment& segment_of(const SegmentTable& segments, uint32_t anchor) {
  uint32_t number = 0;
  while (number + 1 < segments.count && anchor >= segments.list[number + 1].first) ++number;
  return segments.list[number];
}

/// Returns the number of an image's boxes, or kNotComplete.
__device__ inline uint32_t count_of(const KeptBoxes& kept, uint32_t image) {
  if (!kept.packed) return __ldcg(&kept.control[image].complete);
  return kept.headers[image].kept - kept.headers[image].empty;
}

/// Returns an image's boxes.
__device__ inline const Detection* boxes_of(const KeptBoxes& kept, uint32_t image) {
  return (kept.packed ? kept.boxes.host : kept.boxes.device) + size_t{image} * kept.stride;
}

/// Reports the end of the launch, by its last block. Called by all threads of all blocks.
__device__ inline void report_end(const Report& report) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t blocks = gridDim.x * gridDim.y * gridDim.z;
  if (add_acq_rel(report.arrived, 1) + 1 != blocks) return;
  *report.arrived = 0;
  signal_host(*report.done, report.sequence);
}

__host__ __device__ inline uint32_t blocks_for(size_t count, uint32_t each) {
  return static_cast<uint32_t>((count + each - 1) / each);
}

namespace {

/// Returns a coefficient of a box.
__device__ float factor(const DevicePlan& plan, const SegmentTable& segments, uint32_t image,
                        uint32_t anchor, uint32_t number) {
  const PayloadReader from(plan, segments, segment_of(segments, anchor), image);
  return from.get(FieldId::kPayload, anchor, number);
}

/// Pixels of a block, and the maximum number of boxes that it has in shared memory.
constexpr uint32_t kTileWidth = 32, kTileHeight = kPayloadThreads / kTileWidth, kMaxBoxes = 32;
/// Maximum number of prototype values kept by a thread.
constexpr uint32_t kMaxKept = 32;
static_assert(kMaxBoxes == kWarp);

/// Writes a row's sums in the columns of a warp, or their bits as one word.
__device__ void put(const MaskOutput& out, const MaskRect& place, uint32_t x, uint32_t y,
                    float sum) {
  const bool there = place.has_column(x);
  if (out.sums != nullptr) {
    if (there) out.sums[place.offset + (y - place.y) * place.width + (x - place.x)] = sum;
    return;
  }
  const uint32_t bits = __ballot_sync(~0u, there && sum > 0);
  if (x % kWordPixels == 0)
    out.bits[place.offset + (y - place.y) * place.words() + x / kWordPixels - place.first_word()] =
        bits;
}

/// True if the block's tile overlaps the rectangle.
__device__ bool overlaps_tile(const MaskRect& place, uint32_t left, uint32_t top) {
  return left < place.x + place.width && left + kTileWidth > place.x &&
         top < place.y + place.height && top + kTileHeight > place.y;
}

/// Boxes for which a block computes masks.
struct BlockBoxes {
  MaskRect places[kMaxBoxes];
  uint32_t near;  // bit i: the rectangle of box i overlaps the tile
  alignas(16) float factors[kMaxBoxes][kMaxKept];  // of those, followed by zeros
};

/// Reads rectangles, and the coefficients of boxes near the tile if they fit. Called by all threads
/// of a block.
__device__ void load(const MaskArgs& args, uint32_t begin, uint32_t count, BlockBoxes& boxes) {
  if (threadIdx.x < kWarp) {
    MaskRect place;
    if (threadIdx.x < count) boxes.places[threadIdx.x] = place = args.places[begin + threadIdx.x];
    const uint32_t near =
        __ballot_sync(~0u, overlaps_tile(place, blockIdx.x * kTileWidth, blockIdx.y * kTileHeight));
    if (threadIdx.x == 0) boxes.near = near;
  }
  __syncthreads();
  const uint32_t each = args.rules.coefficients;
  if (each > kMaxKept) return;
  for (uint32_t i = threadIdx.x; i < count * kMaxKept; i += kPayloadThreads) {
    const uint32_t box = i / kMaxKept, number = i % kMaxKept;
    if ((boxes.near >> box & 1) == 0) continue;
    boxes.factors[box][number] =
        number < each ? args.factors[size_t{begin + box} * each + number] : 0;
  }
  __syncthreads();
}

/// The prototype values of a thread's pixel. @tparam kKept true to keep them in registers, false to
/// read them again for each box. @tparam Load for the prototypes.
template <bool kKept, class Load>
struct PixelValues {
  const DeviceField& field;
  const std::byte* from;
  float kept[kKept ? kMaxKept : 1];

  __device__ PixelValues(const MaskArgs& args, const PayloadReader& source, uint32_t pixel)
      : field(source.field(FieldId::kPrototypes)),
        from(source.first(FieldId::kPrototypes) +
             size_t{pixel} * field.anchor_stride * field.element) {
    if constexpr (kKept) {
#pragma unroll
      for (uint32_t i = 0; i < kMaxKept; ++i) kept[i] = i < args.rules.coefficients ? get(i) : 0;
    }
  }
  __device__ float get(uint32_t i) const {
    return Load::get(field, from, i * field.channel_stride);
  }

  /// Returns the sum of a box, in the order of the coefficients: zeros after them do not change
  /// it, because it is never -0.
  __device__ float sum(const MaskArgs& args, const BlockBoxes& boxes, uint32_t begin,
                       uint32_t box) const {
    float sum = 0;
    if constexpr (kKept) {
#pragma unroll
      for (uint32_t i = 0; i < kMaxKept; ++i) sum = sum + boxes.factors[box][i] * kept[i];
    } else {
      const float* const factors = args.factors + size_t{begin + box} * args.rules.coefficients;
      for (uint32_t i = 0; i < args.rules.coefficients; ++i)
        sum = sum + __ldg(factors + i) * get(i);
    }
    return sum;
  }
};

/// Computes a tile of the masks of some boxes. Called by all threads of a block.
template <bool kKept, class Load>
__device__ void make_boxes(const DevicePlan& plan, const MaskArgs& args, uint32_t begin,
                           uint32_t count, BlockBoxes& boxes) {
  load(args, begin, count, boxes);
  if (boxes.near == 0) return;
  const uint32_t x = blockIdx.x * kTileWidth + threadIdx.x % kTileWidth;
  const uint32_t y = blockIdx.y * kTileHeight + threadIdx.x / kTileWidth;
  const Size maps = args.rules.maps;
  const uint32_t pixel = x < maps.width && y < maps.height ? y * maps.width + x : 0;
  const PayloadReader source(plan, args.segments, args.segments.list[0], args.image);
  const PixelValues<kKept, Load> values(args, source, pixel);
  for (uint32_t near = boxes.near; near != 0; near &= near - 1) {
    const uint32_t box = __ffs(near) - 1;
    const MaskRect place = boxes.places[box];
    if (place.has_row(y)) put(args.out, place, x, y, values.sum(args, boxes, begin, box));
  }
}

template <bool kKept, class Load>
__global__ void __launch_bounds__(kPayloadThreads)
    make_masks(const __grid_constant__ DevicePlan plan, const __grid_constant__ MaskArgs args) {
  __shared__ BlockBoxes boxes;
  const uint32_t count = args.totals != nullptr ? __ldcg(&args.totals->boxes) : args.count;
  const uint32_t each = min(max(blocks_for(count, gridDim.z), 1u), kMaxBoxes);
  for (uint32_t begin = blockIdx.z * each; begin < count; begin += gridDim.z * each) {
    make_boxes<kKept, Load>(plan, args, begin, min(each, count - begin), boxes);
    __syncthreads();
  }
}

/// Reads coefficients, and copies words for the next launches.
__global__ void __launch_bounds__(kPayloadThreads)
    read_factors(const __grid_constant__ DevicePlan plan, const __grid_constant__ MaskArgs args) {
  const uint32_t number = blockIdx.x * kPayloadThreads + threadIdx.x;
  if (number < args.words) args.device_words[number] = args.host_words[number];
  const uint32_t each = args.rules.coefficients;
  if (number >= args.count * each) return;
  args.factors[number] =
      factor(plan, args.segments, args.image, args.boxes[number / each].anchor, number % each);
}

/// Blocks that share the masks of a frame if each of them has at least kMinBoxes.
constexpr uint32_t kMaskBlocks = 1024, kMinBoxes = 4;

constexpr uint32_t kPlaceThreads = 256, kMaxReaders = 256;

/// Computes the rectangles and their offsets. Called by all threads of one block.
__device__ void place(const DevicePlan& plan, const PlaceArgs& args, uint32_t count, bool fits) {
  __shared__ uint32_t sums[kPlaceThreads / kWarp];
  const Detection* const boxes = boxes_of(args.kept, 0);
  uint32_t words = 0;
  for (uint32_t first = 0; first < count && fits; first += kPlaceThreads) {
    const uint32_t box = first + threadIdx.x;
    MaskRect at;
    if (box < count)
      at = prototype_pixels(boxes[box].box, letterbox_of(plan), args.scale, args.rules.maps, 0);
    if (at.count() == 0) at.width = at.height = 0;
    uint32_t all = 0;
    at.offset = words + sum_before(at.words() * at.height, sums, all);
    words += all;
    fits = words <= args.capacity.words;
    if (box < count) args.host_places[box] = args.places[box] = at;
  }
  if (threadIdx.x != 0) return;
  *args.totals = fits ? MaskTotals{count, words} : MaskTotals{};
  *args.result = {{count, words}, fits ? 0u : 1u};
}

/// The first block places masks, the others read coefficients.
__global__ void __launch_bounds__(kPlaceThreads)
    place_boxes(const __grid_constant__ DevicePlan plan, const __grid_constant__ PlaceArgs args) {
  const uint32_t found = count_of(args.kept, 0), each = args.rules.coefficients;
  const bool fits = found <= args.capacity.boxes;
  const uint32_t count = fits ? found : 0;
  if (blockIdx.x == 0) return place(plan, args, count, fits);
  const Detection* const boxes = boxes_of(args.kept, 0);
  for (uint32_t i = (blockIdx.x - 1) * kPlaceThreads + threadIdx.x; i < count * each;
       i += (gridDim.x - 1) * kPlaceThreads)
    args.factors[i] = factor(plan, args.segments, 0, boxes[i / each].anchor, i % each);
}

constexpr uint32_t kSendBlocks = 32, kSendThreads = 256;

__global__ void __launch_bounds__(kSendThreads) send(const __grid_constant__ SendArgs args) {
  const uint32_t words = __ldcg(&args.totals->words);
  for (uint32_t i = blockIdx.x * kSendThreads + threadIdx.x; i < words;
       i += kSendBlocks * kSendThreads)
    args.host_bits[i] = __ldcg(args.bits + i);
  report_end(args.report);
}

constexpr uint32_t kEnlargeThreads = 128;
static_assert(kWarp == kWordPixels && kTileWidth == kWarp && kWarpRows <= kWarp);

/// Returns the index of the mask that a part belongs to.
__device__ uint32_t mask_of(const EnlargeArgs& args, uint32_t part) {
  uint32_t low = 0, high = args.count;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (args.first_part[middle] <= part) low = middle;
    else high = middle;
  }
  return low;
}

/// Enlarges with one thread per column of a word. Each thread also computes the interpolation of
/// one row for all.
__global__ void __launch_bounds__(kEnlargeThreads)
    enlarge_masks(const __grid_constant__ EnlargeArgs args) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t number = (blockIdx.x * kEnlargeThreads + threadIdx.x) / kWarp;
  if (number >= args.parts) return;
  const uint32_t mask = mask_of(args, number);
  const MaskRect place = args.places[mask], from = args.from[mask];
  const uint32_t part = number - args.first_part[mask], words = place.words();
  const uint32_t word = part % words, first = part / words * kWarpRows;
  const uint32_t x = (place.first_word() + word) * kWordPixels + lane;
  const bool there = place.has_column(x);
  const MaskTap column = tap_of(args.columns, x, from.x, from.width);
  const MaskTap own_row = tap_of(args.rows, place.y + first + lane, from.y, from.height);
  const float* const left = args.sums + from.offset + column.low;
  const float* const right = args.sums + from.offset + column.high;
  uint32_t* out = args.bits + place.offset + size_t{first} * words + word;
  const uint32_t rows = min(kWarpRows, place.height - first);
  for (uint32_t row = 0; row < rows; ++row, out += words) {
    const uint32_t low = __shfl_sync(~0u, own_row.low, row) * from.width;
    const uint32_t high = __shfl_sync(~0u, own_row.high, row) * from.width;
    const float by = __shfl_sync(~0u, own_row.weight, row);
    const float sum =
        lerp(lerp(left[low], left[high], by), lerp(right[low], right[high], by), column.weight);
    const uint32_t bits = __ballot_sync(~0u, there && sum > 0);
    if (lane == 0) *out = bits;
  }
}

}  // namespace

cudaError_t launch_factors(const DevicePlan& plan, const MaskArgs& args, cudaStream_t stream) {
  const uint32_t values = std::max(args.count * args.rules.coefficients, args.words);
  if (values == 0) return cudaSuccess;
  read_factors<<<blocks_for(values, kPayloadThreads), kPayloadThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_places(const DevicePlan& plan, const PlaceArgs& args, uint32_t expected,
                          cudaStream_t stream) {
  const uint32_t readers = blocks_for(size_t{expected} * args.rules.coefficients, kPlaceThreads);
  place_boxes<<<1 + std::clamp(readers, 1u, kMaxReaders), kPlaceThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_send(const SendArgs& args, cudaStream_t stream) {
  send<<<kSendBlocks, kSendThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

cudaError_t launch_masks(const DevicePlan& plan, const MaskArgs& args, uint32_t expected,
                         cudaStream_t stream) {
  dim3 grid(blocks_for(args.rules.maps.width, kTileWidth),
            blocks_for(args.rules.maps.height, kTileHeight));
  const uint32_t wanted =
      std::min(kMaskBlocks / (grid.x * grid.y), blocks_for(expected, kMinBoxes));
  grid.z = std::max({wanted, blocks_for(expected, kMaxBoxes), 1u});
  if (args.rules.coefficients > kMaxKept)
    make_masks<false, AnyLoad><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  else if (args.prototypes == LoadKind::kFloat)
    make_masks<true, FloatLoad><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  else make_masks<true, AnyLoad><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_enlarge(const EnlargeArgs& args, cudaStream_t stream) {
  const uint32_t blocks = blocks_for(args.parts, kEnlargeThreads / kWarp);
  if (blocks == 0) return cudaSuccess;
  enlarge_masks<<<blocks, kEnlargeThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

// Values and keypoints of kept boxes, with one thread per value or point.

namespace {

/// Launched with the images in the second dimension. @tparam kKeypoints true for keypoints.
template <bool kKeypoints>
__global__ void __launch_bounds__(kPayloadThreads)
    payload_values(const __grid_constant__ DevicePlan plan,
                   const __grid_constant__ ValueArgs args) {
  const uint32_t image = blockIdx.y, each = kKeypoints ? args.keypoints.count : args.each;
  const Detection* const boxes = boxes_of(args.kept, image);
  float* const values = args.values + size_t{image} * args.kept.stride * args.each;
  const uint32_t found = count_of(args.kept, image);
  const uint32_t all = found == kNotComplete ? 0 : found * each;
  for (uint32_t i = blockIdx.x * kPayloadThreads + threadIdx.x; i < all;
       i += gridDim.x * kPayloadThreads) {
    const uint32_t anchor = boxes[i / each].anchor;
    const PayloadReader from(plan, args.segments, segment_of(args.segments, anchor), image);
    if constexpr (kKeypoints)
      reinterpret_cast<Keypoint*>(values)[i] =
          on_frame(letterbox_of(plan), model_point(from, args.keypoints, anchor, i % each),
                   args.keypoints.clipped);
    else values[i] = from.get(FieldId::kPayload, anchor, i % each);
  }
  report_end(args.report);
}

/// Maximum blocks per image; each thread has several values if there are more.
constexpr uint32_t kMaxValueBlocks = 256;

}  // namespace

cudaError_t launch_values(const DevicePlan& plan, const ValueArgs& args, uint32_t images,
                          uint32_t expected, cudaStream_t stream) {
  const bool keypoints = args.moves == Moves::kAsPoints;
  const size_t values = size_t{expected} * (keypoints ? args.keypoints.count : args.each);
  const dim3 grid(std::clamp(blocks_for(values, kPayloadThreads), 1u, kMaxValueBlocks), images);
  if (keypoints) payload_values<true><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  else payload_values<false><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
