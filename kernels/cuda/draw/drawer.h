// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on frames in device memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/draw/draw.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

// Memory of the host that is copied to the device at once.

/// Bytes on the host, in rows.
struct ByteRows {
  const uint8_t* bytes = nullptr;
  size_t stride = 0;  // bytes
  int width = 0, height = 0;
};

/// Memory that is filled on the host and copied to the device.
class UploadArena {
 public:
  size_t size() const { return used_; }
  void clear() { used_ = 0; }

  /// Adds bytes at an aligned offset, and returns it.
  Result<size_t> add(const void* bytes, size_t count);
  Result<size_t> add(const ByteRows& rows);
  template <class T>
  Result<size_t> add(const std::vector<T>& list) {
    return add(list.data(), list.size() * sizeof(T));
  }

  /// Starts the copy. The host's memory may be changed once the stream has got there.
  Status upload(cudaStream_t stream);
  /// Returns an offset's address on the device. Valid after upload().
  template <class T>
  const T* at(size_t offset) const {
    return reinterpret_cast<const T*>(device_.get() + offset);
  }

 private:
  Result<std::byte*> reserve(size_t count);

  HostBlob host_;
  DeviceBlob device_;
  size_t host_capacity_ = 0, device_capacity_ = 0, used_ = 0;
};

/// A colour on a plane.
struct PlaneInk {
  DrawnRect at;  // pixels of the plane, inside of it
  Paint paint;
  uint8_t shift_x = 0, shift_y = 0;  // log2 of the plane's subsampling
};

/// A mask on the host, enlarged to the frame.
struct HostMask {
  ByteRows pixels;  // 0 outside the object
  MaskSide across, down;
  DrawnRect at;  // area of the frame, which contains the pixels of both sides
  int edge = 1;  // width of the edge, at least 1
};

/// Collects operations on a frame and executes them together. Everything is called with the frame's
/// context current. Memory grows as needed and is kept.
class Drawer {
 public:
  /// Starts a frame. @param planes stay valid until flush(). @param stream orders the work.
  Status begin(std::span<const DrawnPlane> planes, cudaStream_t stream);

  /// Replaces the pixels of a rectangle. @pre it is inside the plane.
  Status fill(uint32_t plane, const DrawnRect& at, const Paint& paint);

  /// Blend a colour on all planes: v + (paint - v) * coverage / 255, rounded; where a pixel
  /// represents several of the area, by the mean of their coverage times a gain. What is passed is
  /// copied. @param inks one per plane.
  Status blend(const ByteRows& cover, std::span<const PlaneInk> inks, uint8_t gain);
  Status tint(const HostMask& mask, std::span<const PlaneInk> inks);

  /// Copies pixels to the host after all operations so far, and waits for them.
  Status read(uint32_t plane, const DrawnRect& at, uint8_t* pixels, size_t stride);
  /// Copies pixels from the host, which may be changed afterwards.
  Status write(uint32_t plane, const DrawnRect& at, const uint8_t* pixels, size_t stride);

  /// Starts the operations that were collected. Does not wait for them.
  Status flush();

 private:
  /// The operations of a plane.
  struct PlaneList {
    std::vector<DrawnRect> at;
    std::vector<DrawOperation> operations;
  };

  /// The memory of a drawing, which is used again once the drawing is done.
  struct Slot {
    UploadArena arena;
    DeviceBlob made;
    size_t made_capacity = 0;
    Event drawn;
    bool drawing = false;  // since the event was recorded
  };
  static constexpr size_t kSlots = 4;

  bool is_empty() const;
  void clear();
  Status prepare();
  Status make_room(size_t uploaded, size_t made);
  void add(uint32_t plane, const PlaneInk& ink, const Cover& cover);
  void add(std::span<const PlaneInk> inks, const Cover& cover);
  uint32_t add_made(CoverTile of, int width, int height);
  Result<DrawJob> upload(CoverJob& covers);
  Status start();
  Slot& slot() { return slots_[slot_]; }

  std::array<DrawnPlane, kDrawnPlanes> planes_;
  uint32_t plane_count_ = 0;
  cudaStream_t stream_ = nullptr;
  std::array<Slot, kSlots> slots_;
  size_t slot_ = 0;
  std::array<PlaneList, kDrawnPlanes> lists_;
  std::vector<DrawnMask> masks_;
  std::vector<CoverTile> tiles_;
  size_t made_bytes_ = 0;
};

}  // namespace keepbox::cuda
