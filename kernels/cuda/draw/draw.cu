// SPDX-License-Identifier: LGPL-2.1-or-later
// Each block finds the operations that touch its tile, and its threads apply them in their order.
#include <algorithm>

#include "kernels/cuda/draw/draw.h"

namespace keepbox::cuda {
namespace {

constexpr int kTileColumns = 32, kTileRows = 32, kThreads = 256;
constexpr int kWarps = kThreads / 32, kRowStep = kThreads / kTileColumns;

struct Tile {
  int left, top;
};

__device__ bool touches(const DrawnRect& at, const Tile& tile) {
  return at.x < tile.left + kTileColumns && at.x + at.width > tile.left &&
         at.y < tile.top + kTileRows && at.y + at.height > tile.top;
}

/// Writes the indices of the touching operations among kThreads from `base` to `found`, in their
/// order, and returns their number. Synchronises the block.
__device__ uint32_t collect(const PlaneJob& job, const Tile& tile, uint32_t base, uint32_t* found) {
  __shared__ uint32_t counts[kWarps];
  const uint32_t index = base + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool hit = index < job.count && touches(job.at[index], tile);
  const uint32_t hits = __ballot_sync(~0u, hit);
  if (lane == 0) counts[warp] = __popc(hits);
  __syncthreads();
  uint32_t before = 0, all = 0;
  for (uint32_t i = 0; i < kWarps; ++i) {
    if (i < warp) before += counts[i];
    all += counts[i];
  }
  if (hit) found[before + __popc(hits & ((1u << lane) - 1))] = index;
  __syncthreads();
  return all;
}

/// An operation that touches a tile, in shared memory.
struct Staged {
  DrawnRect at;
  DrawOperation operation;
};

/// Copies the operations that were found. Synchronises the block.
__device__ void stage(const PlaneJob& on, const uint32_t* found, uint32_t count, Staged* staged) {
  const uint32_t i = threadIdx.x;
  if (i < count) staged[i] = {on.at[found[i]], on.operations[found[i]]};
  __syncthreads();
}

/// Returns the mean coverage of the pixels that a pixel of a plane represents, rounded as OpenCV
/// does: half up for four pixels, else half to even.
__device__ uint32_t mean_cover(const DrawJob& job, const DrawOperation& each, int x, int y) {
  const Cover& cover = each.cover;
  if (cover.kind == CoverKind::kFull) return 255;
  const int dx = each.shift_x, dy = each.shift_y;
  const uint8_t* const from = (cover.kind == CoverKind::kMade ? job.made : job.uploaded) +
                              cover.offset + (size_t(y) << dy) * cover.width + (size_t(x) << dx);
  if (dx + dy == 0) return *from;
  uint32_t sum = 0;
  for (int i = 0; i < 1 << dy; ++i)
    for (int j = 0; j < 1 << dx; ++j) sum += from[size_t(i) * cover.width + size_t(j)];
  const uint32_t mean = dx + dy == 2 ? (sum + 2) >> 2 : (sum + (sum >> 1 & 1)) >> 1;
  return min(mean * cover.gain, 255u);
}

template <int channels>
using Pixel = uint32_t[channels];

template <int channels>
__device__ void apply(const DrawJob& job, const DrawOperation& each, const DrawnRect& at, int x,
                      int y, int unused_bits, Pixel<channels>& pixel) {
  const int column = x - at.x, row = y - at.y;
  if (column < 0 || column >= at.width || row < 0 || row >= at.height) return;
  const uint32_t by = mean_cover(job, each, column, row);
  if (by == 0) return;
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    const uint32_t value = pixel[c] >> unused_bits;
    const uint32_t paint = uint32_t(each.paint.channel[c]) >> unused_bits;
    pixel[c] = (value * (255 - by) + paint * by + 127) / 255 << unused_bits;  // rounded
  }
}

/// Applies some operations of a tile to a plane of values of a type.
template <class T, int channels>
__device__ void apply_typed(const DrawJob& job, const DrawnPlane& plane, const Tile& tile,
                            const Staged* staged, uint32_t count) {
  const int x = tile.left + int(threadIdx.x) % kTileColumns;
  const int first = tile.top + int(threadIdx.x) / kTileColumns;
  const int end = min(tile.top + kTileRows, plane.height);
  if (x >= plane.width) return;
  for (int y = first; y < end; y += kRowStep) {
    T* const at = reinterpret_cast<T*>(plane.pixels + size_t(y) * plane.stride) + x * channels;
    Pixel<channels> pixel;
#pragma unroll
    for (int c = 0; c < channels; ++c) pixel[c] = at[c];
    for (uint32_t i = 0; i < count; ++i)
      apply<channels>(job, staged[i].operation, staged[i].at, x, y, plane.unused_bits, pixel);
#pragma unroll
    for (int c = 0; c < channels; ++c) at[c] = T(pixel[c]);
  }
}

template <class T>
__device__ void apply_all(const DrawJob& job, const DrawnPlane& plane, const Tile& tile,
                          const Staged* staged, uint32_t count) {
  switch (plane.channels) {
    case 1: return apply_typed<T, 1>(job, plane, tile, staged, count);
    case 2: return apply_typed<T, 2>(job, plane, tile, staged, count);
    case 3: return apply_typed<T, 3>(job, plane, tile, staged, count);
    default: return apply_typed<T, 4>(job, plane, tile, staged, count);
  }
}

__global__ void __launch_bounds__(kThreads) draw(const __grid_constant__ DrawJob job) {
  __shared__ uint32_t found[kThreads];
  __shared__ Staged staged[kThreads];
  const PlaneJob& on = job.planes[blockIdx.z];
  const Tile tile{int(blockIdx.x) * kTileColumns, int(blockIdx.y) * kTileRows};
  if (tile.left >= on.plane.width || tile.top >= on.plane.height) return;
  for (uint32_t base = 0; base < on.count; base += kThreads) {
    const uint32_t count = collect(on, tile, base, found);
    if (count == 0) continue;
    stage(on, found, count, staged);
    if (on.plane.bytes == 1) apply_all<uint8_t>(job, on.plane, tile, staged, count);
    else apply_all<uint16_t>(job, on.plane, tile, staged, count);
    __syncthreads();  // before the next ones are found
  }
}

}  // namespace

cudaError_t launch_draw(const DrawJob& job, cudaStream_t stream) {
  int width = 0, height = 0;
  for (uint32_t i = 0; i < job.plane_count; ++i) {
    if (job.planes[i].count == 0) continue;
    width = std::max(width, job.planes[i].plane.width);
    height = std::max(height, job.planes[i].plane.height);
  }
  if (width == 0 || height == 0) return cudaSuccess;
  const dim3 grid(unsigned((width + kTileColumns - 1) / kTileColumns),
                  unsigned((height + kTileRows - 1) / kTileRows), job.plane_count);
  draw<<<grid, kThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
