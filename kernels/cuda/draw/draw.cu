// SPDX-License-Identifier: LGPL-2.1-or-later
// One thread per pixel. Each block finds the operations that touch its tile, and its threads apply
// them in their order.
#include <algorithm>

#include "kernels/cuda/draw/draw.h"

namespace keepbox::cuda {
namespace {

constexpr int kTileColumns = 32, kTileRows = 8, kThreads = kTileColumns * kTileRows;
constexpr int kWarps = kThreads / 32;

struct Tile {
  int left, top;
};

__device__ bool touches(const DrawOperation& each, uint32_t plane, const Tile& tile) {
  return each.plane == plane && each.at.x < tile.left + kTileColumns &&
         each.at.x + each.at.width > tile.left && each.at.y < tile.top + kTileRows &&
         each.at.y + each.at.height > tile.top;
}

/// Writes the indices of the touching operations among kThreads from `base` to `found`, in their
/// order, and returns their number. Synchronises the block.
__device__ uint32_t collect(const DrawJob& job, uint32_t plane, const Tile& tile, uint32_t base,
                            uint32_t* found) {
  __shared__ uint32_t counts[kWarps];
  const uint32_t index = base + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool hit = index < job.count && touches(job.operations[index], plane, tile);
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

using Pixel = uint32_t[kDrawnChannels];

__device__ void load(const DrawnPlane& plane, const uint8_t* from, Pixel& pixel) {
  for (int c = 0; c < plane.channels; ++c)
    pixel[c] = plane.bytes == 1 ? from[c] : reinterpret_cast<const uint16_t*>(from)[c];
}

__device__ void store(const DrawnPlane& plane, const Pixel& pixel, uint8_t* to) {
  for (int c = 0; c < plane.channels; ++c)
    if (plane.bytes == 1) to[c] = uint8_t(pixel[c]);
    else reinterpret_cast<uint16_t*>(to)[c] = uint16_t(pixel[c]);
}

__device__ void apply(const DrawOperation& each, const uint8_t* cover, int x, int y,
                      const DrawnPlane& plane, Pixel& pixel) {
  const int column = x - each.at.x, row = y - each.at.y;
  if (column < 0 || column >= each.at.width || row < 0 || row >= each.at.height) return;
  const uint32_t by =
      each.blends ? cover[each.cover + size_t(row) * size_t(each.at.width) + size_t(column)] : 255;
  if (by == 0) return;
  for (int c = 0; c < plane.channels; ++c) {
    const uint32_t value = pixel[c] >> plane.unused_bits;
    const uint32_t paint = uint32_t(each.paint.channel[c]) >> plane.unused_bits;
    pixel[c] = (value * (255 - by) + paint * by + 127) / 255 << plane.unused_bits;  // rounded
  }
}

__global__ void __launch_bounds__(kThreads) draw(const __grid_constant__ DrawJob job) {
  __shared__ uint32_t found[kThreads];
  const DrawnPlane& plane = job.planes[blockIdx.z];
  const Tile tile{int(blockIdx.x) * kTileColumns, int(blockIdx.y) * kTileRows};
  if (tile.left >= plane.width || tile.top >= plane.height) return;
  const int x = tile.left + int(threadIdx.x) % kTileColumns;
  const int y = tile.top + int(threadIdx.x) / kTileColumns;
  const bool there = x < plane.width && y < plane.height;
  uint8_t* const at =
      plane.pixels + size_t(y) * plane.stride + size_t(x * plane.channels * plane.bytes);
  Pixel pixel;
  bool loaded = false;
  for (uint32_t base = 0; base < job.count; base += kThreads) {
    const uint32_t count = collect(job, blockIdx.z, tile, base, found);
    if (count != 0 && there && !loaded) {
      load(plane, at, pixel);
      loaded = true;
    }
    for (uint32_t i = 0; there && i < count; ++i)
      apply(job.operations[found[i]], job.cover, x, y, plane, pixel);
    __syncthreads();  // before the next ones are found
  }
  if (loaded) store(plane, pixel, at);
}

}  // namespace

cudaError_t launch_draw(const DrawJob& job, cudaStream_t stream) {
  int width = 0, height = 0;
  for (uint32_t i = 0; i < job.plane_count; ++i) {
    width = std::max(width, job.planes[i].width);
    height = std::max(height, job.planes[i].height);
  }
  if (job.count == 0 || width == 0 || height == 0) return cudaSuccess;
  const dim3 grid(unsigned((width + kTileColumns - 1) / kTileColumns),
                  unsigned((height + kTileRows - 1) / kTileRows), job.plane_count);
  draw<<<grid, kThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
