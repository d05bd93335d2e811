// SPDX-License-Identifier: LGPL-2.1-or-later
// Coverage of silhouettes, tile by tile. A block finds the object's pixels as bits, erodes them in
// words of 32, and smooths the result.
#include "core/formula/silhouette.h"
#include "kernels/cuda/draw/draw.h"

namespace keepbox::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMargin = kWidestEdge + kSmoothingMargin;  // around a tile, below a word
constexpr int kWords = kCoverTileColumns / 32 + 2;       // per row, with a word at each side
constexpr int kRows = kCoverTileRows + 2 * kMargin;
constexpr int kCells = kWords * kRows;
static_assert(kMargin <= 32);

/// A bit per pixel around a tile.
using Bits = uint32_t[kRows][kWords];

/// What the pixels of a row, or of a column, around a tile have in common.
struct Shared {
  Bits object, eroded[2];
  MaskLines lines[kRows];
  bool in_rows[kRows];    // of the mask's area
  int near[kWords * 32];  // pixel_before() of a column
  bool in_columns[kWords * 32];
};

/// The tile of a block.
struct Place {
  const DrawnMask& mask;
  int left, top;  // of the tile, in pixels of the area
  int margin;     // that decides about the tile

  __device__ int x_of(int word) const { return left + (word - 1) * 32; }
  __device__ int y_of(int row) const { return top + row - kMargin; }
  __device__ bool has_row(int y) const { return y >= 0 && y < mask.at.height; }
  /// Returns the bits of a word that are inside the area.
  __device__ uint32_t columns_of(int word) const {
    const int first = max(-x_of(word), 0), end = min(mask.at.width - x_of(word), 32);
    if (first >= end) return 0;
    return (~0u >> (32 - (end - first))) << first;
  }
};

/// Prepares rows and columns.
__device__ void prepare(const Place& place, Shared& shared) {
  const DrawnMask& mask = place.mask;
  for (int i = int(threadIdx.x); i < kRows; i += kThreads) {
    const int line = mask.at.y + place.y_of(i);
    shared.in_rows[i] = line >= mask.down.first && line < mask.down.last;
    if (shared.in_rows[i]) shared.lines[i] = lines_at(mask.down, line);
  }
  for (int i = int(threadIdx.x); i < kWords * 32; i += kThreads) {
    const int column = mask.at.x + place.x_of(0) + i;
    shared.in_columns[i] = column >= mask.across.first && column < mask.across.last;
    if (shared.in_columns[i]) shared.near[i] = pixel_before(mask.across, column);
  }
}

/// True if a pixel of the area belongs to the object.
__device__ bool belongs(const Place& place, const Shared& shared, const uint8_t* pixels, int row,
                        int column) {
  if (!shared.in_rows[row] || !shared.in_columns[column]) return false;
  const DrawnMask& mask = place.mask;
  const MaskLines lines = shared.lines[row];
  const int below = min(lines.above + 1, mask.down.count - 1);
  const uint8_t* const first = pixels + size_t(lines.above) * size_t(mask.across.count);
  const uint8_t* const second = pixels + size_t(below) * size_t(mask.across.count);
  const auto both = [&](int i) { return 2 * (first[i] != 0) + (second[i] != 0); };
  return is_inside(mask.across, lines, mask.at.x + place.x_of(0) + column, shared.near[column],
                   both);
}

/// Finds the object's pixels. Those outside of the area count as the object's, so that it has no
/// edge where the frame ends.
__device__ void find_pixels(const Place& place, const uint8_t* pixels, Shared& shared) {
  const int lane = int(threadIdx.x) % 32;
  for (int cell = int(threadIdx.x) / 32; cell < kCells; cell += kWarps) {
    const int row = cell / kWords, word = cell % kWords;
    const int x = place.x_of(word) + lane, y = place.y_of(row);
    const bool near = x >= place.left - place.margin &&
                      x < place.left + kCoverTileColumns + place.margin &&
                      row >= kMargin - place.margin && row < kRows - kMargin + place.margin;
    const bool outside = !place.has_row(y) || x < 0 || x >= place.mask.at.width;
    const uint32_t found = __ballot_sync(
        ~0u, !near || outside || belongs(place, shared, pixels, row, word * 32 + lane));
    if (lane == 0) shared.object[row][word] = found;
  }
}

/// Returns the pixels of a word that are set and whose neighbours in the row are.
__device__ uint32_t with_neighbours(const uint32_t* row, int word) {
  const uint32_t before = word > 0 ? row[word - 1] : ~0u;
  const uint32_t after = word + 1 < kWords ? row[word + 1] : ~0u;
  const uint32_t here = row[word];
  return here & __funnelshift_l(before, here, 1) & __funnelshift_r(here, after, 1);
}

/// Removes the outer pixels of the object: by a cross, or by a square.
__device__ void erode(const Place& place, bool square, const Bits& from, Bits& to) {
  for (int cell = int(threadIdx.x); cell < kCells; cell += kThreads) {
    const int row = cell / kWords, word = cell % kWords;
    uint32_t left = with_neighbours(from[row], word);
    for (const int next : {row - 1, row + 1}) {
      if (next < 0 || next >= kRows) continue;
      left &= square ? with_neighbours(from[next], word) : from[next][word];
    }
    const uint32_t inside = place.has_row(place.y_of(row)) ? place.columns_of(word) : 0;
    to[row][word] = left | ~inside;
  }
}

__device__ bool bit_at(const Bits& bits, const Place& place, int x, int y) {
  const int column = x - place.left + 32;
  return (bits[y - place.top + kMargin][column / 32] >> column % 32 & 1) != 0;
}

/// Returns the coverage of a pixel before smoothing. @pre it is inside the area.
__device__ uint32_t cover_of(const Bits& object, const Bits& inner, const Place& place, int x,
                             int y) {
  if (!bit_at(object, place, x, y)) return 0;
  return bit_at(inner, place, x, y) ? kTintCover : 255;
}

/// Returns the mean of the pixels around one by 1/4, 1/2, 1/4 in both directions, rounded half up;
/// those of the area's edge are repeated.
__device__ uint32_t smoothed(const Bits& object, const Bits& inner, const Place& place, int x,
                             int y) {
  uint32_t sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) {
      const int column = min(max(x + i, 0), place.mask.at.width - 1);
      const int row = min(max(y + j, 0), place.mask.at.height - 1);
      sum += cover_of(object, inner, place, column, row) << ((i == 0) + (j == 0));
    }
  return (sum + 8) >> 4;
}

__device__ void write(const Place& place, const Bits& object, const Bits& inner, uint8_t* cover) {
  for (int i = int(threadIdx.x); i < kCoverTileColumns * kCoverTileRows; i += kThreads) {
    const int x = place.left + i % kCoverTileColumns, y = place.top + i / kCoverTileColumns;
    if (x >= place.mask.at.width || y >= place.mask.at.height) continue;
    cover[size_t(y) * size_t(place.mask.at.width) + size_t(x)] =
        uint8_t(place.mask.edge > 1 ? smoothed(object, inner, place, x, y)
                                    : cover_of(object, inner, place, x, y));
  }
}

__global__ void __launch_bounds__(kThreads) make_covers(const __grid_constant__ CoverJob job) {
  __shared__ Shared shared;
  const CoverTile tile = job.tiles[blockIdx.x];
  const DrawnMask& mask = job.masks[tile.mask];
  const Place place{mask, tile.column * kCoverTileColumns, tile.row * kCoverTileRows,
                    mask.edge + kSmoothingMargin};
  prepare(place, shared);
  __syncthreads();
  find_pixels(place, job.uploaded + mask.pixels, shared);
  __syncthreads();
  const Bits* inner = &shared.object;
  for (int i = 0; i < mask.edge; ++i) {
    // Crosses and squares in turn are nearly a disc.
    erode(place, i % 2 == 1, *inner, shared.eroded[i % 2]);
    inner = &shared.eroded[i % 2];
    __syncthreads();
  }
  write(place, shared.object, *inner, job.made + mask.cover);
}

}  // namespace

cudaError_t launch_covers(const CoverJob& job, cudaStream_t stream) {
  if (job.tile_count == 0) return cudaSuccess;
  make_covers<<<job.tile_count, kThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
