// SPDX-License-Identifier: LGPL-2.1-or-later
// Coverage of masks, tile by tile. A block finds the object's pixels as bits, erodes them in words
// of 32, and smooths the result.
#include "core/formula/mask.h"
#include "kernels/cuda/draw/draw.h"

namespace keepbox::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMargin = kWidestEdge + kSmoothingMargin;  // around a tile, below a word
constexpr int kWords = kCoverTileColumns / 32 + 2;       // per row, with a word at each side
constexpr int kRows = kCoverTileRows + 2 * kMargin;
static_assert(kMargin <= 32);

/// A bit per pixel around a tile.
using Bits = uint32_t[kRows][kWords];

/// Bits of a tile's object, and of the object without its edge.
struct Shared {
  Bits object, eroded[2];
  uint32_t changes[kWarps][kWords];  // of the rows that warps find: where the object begins or ends
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

/// The part of a row around a tile that is in the mask's area, in pixels of the frame.
struct Span {
  int origin;       // pixel of the first bit of the row
  int first, last;  // without the last

  __device__ Span(const Place& place)
      : origin(place.mask.at.x + place.x_of(0)),
        first(max(place.mask.across.first, origin)),
        last(min(place.mask.across.last, origin + kWords * 32)) {}
  /// Returns the bits of a word that are in the span.
  __device__ uint32_t bits_of(int word) const {
    const int low = max(first - origin - word * 32, 0), end = min(last - origin - word * 32, 32);
    return low >= end ? 0 : (~0u >> (32 - (end - low))) << low;
  }
};

/// Marks the pixels of a line at which the object begins or ends, after the first one of the span.
/// Returns true if that one belongs to it. Called by a warp.
__device__ bool find_changes(const MaskSide& across, const MaskLines& lines, const Span& span,
                             const uint8_t* above, const uint8_t* below, uint32_t* changes) {
  const auto both = [&](int i) { return 2 * (above[i] != 0) + (below[i] != 0); };
  const int begin = max(pixel_before(across, span.first), 1);
  const int end = min(pixel_before(across, span.last - 1) + 2, across.count - 1);
  bool inside = lines.inside(both(min(begin - 1, across.count - 1)));
  for (int i = begin + int(threadIdx.x) % 32; __any_sync(~0u, i <= end); i += 32) {
    bool before = false;  // the change is before the second pixel
    if (i <= end) {
      const int here = both(i - 1), next = both(i);
      if (lines.inside(here) != lines.inside(next)) {
        const int at = crossing(across, i - 1, lines.level(here), lines.level(next));
        before = at <= span.first;
        const int bit = at - span.origin;
        if (!before && at < span.last) atomicXor(changes + bit / 32, 1u << bit % 32);
      }
    }
    inside ^= (__popc(__ballot_sync(~0u, before)) & 1) != 0;
  }
  return inside;
}

/// Returns bits that change their value at each bit that is set.
__device__ uint32_t toggled(uint32_t bits) {
  for (int by = 1; by < 32; by *= 2) bits ^= bits << by;
  return bits;
}

/// Returns a word of the object's pixels in a row of the mask's area. Called by a warp for its
/// first kWords lanes.
__device__ uint32_t pixels_of(const Place& place, const uint8_t* pixels, int line, const Span& span,
                              uint32_t* changes) {
  const DrawnMask& mask = place.mask;
  const int lane = int(threadIdx.x) % 32, word = min(lane, kWords - 1);
  if (lane < kWords) changes[lane] = 0;
  __syncwarp();
  const MaskLines lines = lines_at(mask.down, line);
  const int below = min(lines.above + 1, mask.down.count - 1);
  const bool first = find_changes(mask.across, lines, span,
                                  pixels + size_t(lines.above) * size_t(mask.across.count),
                                  pixels + size_t(below) * size_t(mask.across.count), changes);
  __syncwarp();
  bool carried = first;
  for (int i = 0; i < word; ++i) carried ^= (__popc(changes[i]) & 1) != 0;
  const uint32_t found = toggled(changes[word]) ^ (carried ? ~0u : 0);
  __syncwarp();
  return found & span.bits_of(word);
}

/// Finds the object's pixels. Those outside of the area count as the object's, so that it has no
/// edge where the frame ends.
__device__ void find_pixels(const Place& place, const uint8_t* pixels, Shared& shared) {
  const DrawnMask& mask = place.mask;
  const Span span(place);
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int end = kRows - kMargin + place.margin;
  for (int row = kMargin - place.margin + warp; row < end; row += kWarps) {
    const int y = place.y_of(row), line = mask.at.y + y;
    uint32_t found = 0;
    if (span.first < span.last && line >= mask.down.first && line < mask.down.last)
      found = pixels_of(place, pixels, line, span, shared.changes[warp]);
    if (lane < kWords)
      shared.object[row][lane] = found | (place.has_row(y) ? ~place.columns_of(lane) : ~0u);
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
  const int first = kMargin - place.margin, end = kRows - first;
  for (int cell = int(threadIdx.x) + first * kWords; cell < end * kWords; cell += kThreads) {
    const int row = cell / kWords, word = cell % kWords;
    uint32_t left = with_neighbours(from[row], word);
    for (const int next : {row - 1, row + 1}) {
      if (next < first || next >= end) continue;
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

/// Returns six bits of a row from the pixel before a column on.
__device__ uint32_t window(const uint32_t* row, int column) {
  const int bit = column + 31;  // a word is before the tile
  return __funnelshift_r(row[bit / 32], row[bit / 32 + 1], bit % 32) & 63;
}

/// Adds the pixels of a row to four sums, with weights 1, 2, 1 times that of the row.
__device__ void add_row(uint32_t object, uint32_t inner, uint32_t weight, uint32_t (&sums)[4]) {
  for (int i = 0; i < 4; ++i) {
    const auto weighed = [&](uint32_t bits) {
      return (bits >> i & 1) + 2 * (bits >> (i + 1) & 1) + (bits >> (i + 2) & 1);
    };
    sums[i] += weight * (255 * weighed(object) - (255 - kTintCover) * weighed(inner));
  }
}

/// Writes four smoothed pixels that are not at the area's edge, like smoothed().
__device__ void write_inner(const Bits& object, const Bits& inner, int column, int row,
                            uint8_t* to) {
  uint32_t sums[4] = {8, 8, 8, 8};
  for (int j = -1; j <= 1; ++j)
    add_row(window(object[row + j], column), window(inner[row + j], column), j == 0 ? 2 : 1, sums);
  for (int i = 0; i < 4; ++i) to[i] = uint8_t(sums[i] >> 4);
}

/// Writes the coverage of a tile, four pixels at a time.
__device__ void write(const Place& place, const Bits& object, const Bits& inner, uint8_t* cover) {
  const int width = place.mask.at.width, height = place.mask.at.height;
  constexpr int kGroups = kCoverTileColumns / 4;
  for (int i = int(threadIdx.x); i < kGroups * kCoverTileRows; i += kThreads) {
    const int column = i % kGroups * 4, row = i / kGroups;
    const int x = place.left + column, y = place.top + row;
    if (x >= width || y >= height) continue;
    uint8_t* const to = cover + size_t(y) * size_t(width) + size_t(x);
    if (place.mask.edge > 1 && x > 0 && x + 4 < width && y > 0 && y + 1 < height) {
      write_inner(object, inner, column, row + kMargin, to);
      continue;
    }
    for (int j = 0; j < 4 && x + j < width; ++j)
      to[j] = uint8_t(place.mask.edge > 1 ? smoothed(object, inner, place, x + j, y)
                                          : cover_of(object, inner, place, x + j, y));
  }
}

/// Makes the coverage of a tile of a mask.
__device__ void make_silhouette(const CoverJob& job, const CoverTile& tile, Shared& shared) {
  const DrawnMask& mask = job.masks[tile.index];
  const Place place{mask, tile.column * kCoverTileColumns, tile.row * kCoverTileRows,
                    mask.edge + kSmoothingMargin};
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

__global__ void __launch_bounds__(kThreads) make_covers(const __grid_constant__ CoverJob job) {
  __shared__ Shared shared;
  make_silhouette(job, job.tiles[blockIdx.x], shared);
}

}  // namespace

cudaError_t launch_covers(const CoverJob& job, cudaStream_t stream) {
  if (job.tile_count == 0) return cudaSuccess;
  make_covers<<<job.tile_count, kThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
