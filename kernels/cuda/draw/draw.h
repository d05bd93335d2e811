// SPDX-License-Identifier: LGPL-2.1-or-later
// Operations on frames in device memory: rectangles of one colour, and colours blended by coverage.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/formula/mask.h"

namespace keepbox::cuda {

/// Maximum number of planes of a frame, and of channels of a plane.
inline constexpr size_t kDrawnPlanes = 4, kDrawnChannels = 4;

/// A plane of a frame in device memory.
struct DrawnPlane {
  uint8_t* pixels = nullptr;
  size_t stride = 0;  // bytes
  int width = 0, height = 0;
  int channels = 1;
  int bytes = 1;        // per channel
  int unused_bits = 0;  // the lowest ones of a channel, always 0
};

/// A rectangle in pixels of a plane or of the frame.
struct DrawnRect {
  int x = 0, y = 0, width = 0, height = 0;
};

/// The value of each channel.
struct Paint {
  uint16_t channel[kDrawnChannels];
};

/// Source of an operation's coverage of the frame's pixels.
enum class CoverKind : uint8_t {
  kFull,      // every pixel is covered
  kUploaded,  // bytes from the host
  kMade,      // bytes that launch_covers() makes
};

/// Coverage of an area of the frame, 8 bits per pixel in rows without gaps.
struct Cover {
  CoverKind kind = CoverKind::kFull;
  uint8_t gain = 1;     // of the mean of several pixels
  uint32_t offset = 0;  // of the bytes
  uint32_t width = 0;   // of the area
};

/// Replaces or blends the pixels of a rectangle of a plane, which its DrawnRect gives.
struct DrawOperation {
  Paint paint;
  Cover cover;
  uint8_t shift_x = 0, shift_y = 0;  // log2 of the plane's subsampling
};

/// A mask whose silhouette is drawn.
struct DrawnMask {
  uint32_t pixels = 0;  // offset among the uploaded bytes: rows without gaps, 0 outside the object
  uint32_t cover = 0;   // offset among the made bytes
  MaskSide across, down;
  DrawnRect at;  // area of the coverage, in pixels of the frame
  int edge = 1;  // width of the edge, up to kWidestEdge
};

/// A part of a mask's coverage that a block makes.
struct CoverTile {
  uint32_t index = 0;  // of the mask
  uint16_t column = 0, row = 0;
};

/// The operations of a plane.
struct PlaneJob {
  DrawnPlane plane;
  uint32_t count = 0;
  const DrawnRect* at = nullptr;  // device memory, as all below
  const DrawOperation* operations = nullptr;
};

/// Operations on the planes of a frame.
struct DrawJob {
  PlaneJob planes[kDrawnPlanes];
  uint32_t plane_count = 0;
  const uint8_t* uploaded = nullptr;
  const uint8_t* made = nullptr;
};

/// Coverage to make.
struct CoverJob {
  const DrawnMask* masks = nullptr;
  const CoverTile* tiles = nullptr;
  uint32_t tile_count = 0;
  const uint8_t* uploaded = nullptr;
  uint8_t* made = nullptr;
};

/// Size of a CoverTile in pixels of the frame.
inline constexpr int kCoverTileColumns = 64, kCoverTileRows = 32;

/// Makes the coverage of masks: the object with an edge inside, smoothed if the edge is wider than
/// a pixel.
cudaError_t launch_covers(const CoverJob& job, cudaStream_t stream);

/// Executes the operations of each plane in their order.
cudaError_t launch_draw(const DrawJob& job, cudaStream_t stream);

}  // namespace keepbox::cuda
