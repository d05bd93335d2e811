// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints with one thread each; sums of masks with one thread per prototype pixel, which keeps
// its values for all boxes; enlarged masks with a thread per column of 32 rows.
#include <algorithm>

#include "core/formula/model_point.h"
#include "kernels/cuda/device/source.cuh"
#include "kernels/cuda/payload/payload.h"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kGatherThreads = 128;

/// Reads values of any type, from segments, for the templates of core/formula/score.h.
struct GatherSource {
  const Rules& rules;
  const Tables& tables;
  const GatherArgs& args;
  const DeviceSegment& segment;
  uint32_t image;

  __device__ GatherSource(const DevicePlan& plan, const GatherArgs& from, const DeviceSegment& of)
      : rules(plan.rules), tables(plan.tables), args(from), segment(of), image(from.image) {}

  __device__ const DeviceField& field(FieldId part) const {
    return segment.fields[static_cast<uint32_t>(part)];
  }
  __device__ bool has(FieldId part) const { return field(part).element != 0; }
  __device__ const std::byte* first(FieldId part) const {
    const DeviceField& from = field(part);
    return args.pieces.data[segment.tensors[static_cast<uint32_t>(part)]] +
           reinterpret_cast<size_t>(from.data) + image * from.image_stride;
  }
  __device__ float get(FieldId part, uint32_t anchor, uint32_t channel = 0) const {
    const DeviceField& from = field(part);
    return AnyLoad::get(
        from, first(part) + size_t{anchor - segment.first} * from.anchor_stride * from.element,
        channel * from.channel_stride);
  }
};

__device__ const DeviceSegment& segment_of(const Pieces& pieces, uint32_t anchor) {
  uint32_t number = 0;
  while (number + 1 < pieces.count && anchor >= pieces.segments[number + 1].first) ++number;
  return pieces.segments[number];
}

__global__ void __launch_bounds__(kGatherThreads)
    gather_points(const __grid_constant__ DevicePlan plan,
                  const __grid_constant__ GatherArgs args) {
  const uint32_t number = blockIdx.x * kGatherThreads + threadIdx.x;
  if (number >= args.count * args.points.count) return;
  const uint32_t anchor = args.boxes[number / args.points.count].anchor;
  const GatherSource from(plan, args, segment_of(args.pieces, anchor));
  reinterpret_cast<Keypoint*>(args.values)[number] =
      on_frame(plan.letterbox, model_point(from, args.points, anchor, number % args.points.count),
               args.points.clipped);
}

__global__ void __launch_bounds__(kGatherThreads)
    gather_values(const __grid_constant__ DevicePlan plan,
                  const __grid_constant__ GatherArgs args) {
  const uint32_t number = blockIdx.x * kGatherThreads + threadIdx.x;
  if (number < args.words) args.device_words[number] = args.host_words[number];
  if (number >= args.count * args.each) return;
  const uint32_t anchor = args.boxes[number / args.each].anchor;
  const GatherSource from(plan, args, segment_of(args.pieces, anchor));
  args.values[number] = from.get(FieldId::kPayload, anchor, number % args.each);
}

/// Pixels of a block, and boxes per block.
constexpr uint32_t kTileWidth = 32, kTileHeight = kGatherThreads / kTileWidth, kBoxesEach = 32;
/// Maximum number of prototype values kept by a thread.
constexpr uint32_t kMaxKept = 32;

/// Writes a row's sums in the columns of a warp, or their bits as one word.
__device__ void put(const MaskOutput& out, const MaskPlace& place, uint32_t x, uint32_t y,
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
__device__ bool meets(const MaskPlace& place, uint32_t left, uint32_t top) {
  return left < place.x + place.width && left + kTileWidth > place.x &&
         top < place.y + place.height && top + kTileHeight > place.y;
}

/// @tparam kKept true to keep prototype values in registers, false to read them again for each box.
/// @tparam Load for the prototypes.
template <bool kKept, class Load>
__global__ void __launch_bounds__(kGatherThreads)
    make_masks(const __grid_constant__ DevicePlan plan, const __grid_constant__ GatherArgs args) {
  const uint32_t left = blockIdx.x * kTileWidth, top = blockIdx.y * kTileHeight;
  const uint32_t x = left + threadIdx.x % kTileWidth, y = top + threadIdx.x / kTileWidth;
  const uint32_t begin = blockIdx.z * kBoxesEach, end = min(begin + kBoxesEach, args.count);
  const bool there = x < args.masks.maps.width && y < args.masks.maps.height;
  const GatherSource from(plan, args, args.pieces.segments[0]);
  const uint32_t pixel = there ? y * args.masks.maps.width + x : 0;
  const uint32_t count = args.masks.coefficients;
  const DeviceField& field = from.field(FieldId::kPrototypes);
  const std::byte* const maps =
      from.first(FieldId::kPrototypes) + size_t{pixel} * field.anchor_stride * field.element;
  const uint32_t stride = field.channel_stride;
  float kept[kKept ? kMaxKept : 1];
  if constexpr (kKept) {
    bool any = false;
    for (uint32_t i = begin; i < end; ++i) any |= meets(args.places[i], left, top);
    if (!any) return;
#pragma unroll
    for (uint32_t i = 0; i < kMaxKept; ++i)
      kept[i] = i < count ? Load::get(field, maps, i * stride) : 0;
  }
  for (uint32_t box = begin; box < end; ++box) {
    const MaskPlace place = args.places[box];
    if (!meets(place, left, top) || !place.has_row(y)) continue;
    const float* const factors = args.values + size_t{box} * count;
    float sum = 0;
    if constexpr (kKept) {
#pragma unroll
      for (uint32_t i = 0; i < kMaxKept; ++i)
        if (i < count) sum = sum + __ldg(factors + i) * kept[i];
    } else {
      for (uint32_t i = 0; i < count; ++i)
        sum = sum + __ldg(factors + i) * Load::get(field, maps, i * stride);
    }
    put(args.out, place, x, y, sum);
  }
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
  const MaskPlace place = args.places[mask], from = args.from[mask];
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
    const float by = __shfl_sync(~0u, own_row.part, row);
    const float sum = between(between(left[low], left[high], by),
                              between(right[low], right[high], by), column.part);
    const uint32_t bits = __ballot_sync(~0u, there && sum > 0);
    if (lane == 0) *out = bits;
  }
}

uint32_t blocks_for(uint32_t count, uint32_t each) { return (count + each - 1) / each; }

}  // namespace

cudaError_t launch_values(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream) {
  const bool points = args.moves == Moves::kAsPoints;
  const uint32_t each = points ? args.points.count : args.each;
  const uint32_t blocks = blocks_for(std::max(args.count * each, args.words), kGatherThreads);
  if (blocks == 0) return cudaSuccess;
  if (points) gather_points<<<blocks, kGatherThreads, 0, stream>>>(plan, args);
  else gather_values<<<blocks, kGatherThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_masks(const DevicePlan& plan, const GatherArgs& args, cudaStream_t stream) {
  if (args.count == 0) return cudaSuccess;
  const Size maps = args.masks.maps;
  const dim3 grid(blocks_for(maps.width, kTileWidth), blocks_for(maps.height, kTileHeight),
                  blocks_for(args.count, kBoxesEach));
  if (args.masks.coefficients > kMaxKept)
    make_masks<false, AnyLoad><<<grid, kGatherThreads, 0, stream>>>(plan, args);
  else if (args.prototypes == Numbers::kFloat)
    make_masks<true, PlainLoad><<<grid, kGatherThreads, 0, stream>>>(plan, args);
  else make_masks<true, AnyLoad><<<grid, kGatherThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_enlarge(const EnlargeArgs& args, cudaStream_t stream) {
  const uint32_t blocks = blocks_for(args.parts, kEnlargeThreads / kWarp);
  if (blocks == 0) return cudaSuccess;
  enlarge_masks<<<blocks, kEnlargeThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
