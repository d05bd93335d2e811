// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of boxes as GStreamer's metas, and their pixels in rows.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/formula/mask.h"
#include "gst/metas/boxes.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

// Masks of objects in GStreamer's form: GRAY8 buffers with a GstVideoMeta.

/// Returns the pixel value for the objects of a mask: 1 to 10 in turn, because segmentationoverlay
/// distinguishes no more by default. @param index of the mask in the frame.
constexpr uint8_t mask_region(size_t index) { return static_cast<uint8_t>(index % 10 + 1); }

/// Owns the buffers of a frame's masks. Take a reference to keep one longer.
class MaskBuffers {
 public:
  MaskBuffers() = default;
  explicit MaskBuffers(std::vector<FrameMask> masks) : masks_(std::move(masks)) {}
  MaskBuffers(MaskBuffers&& other) noexcept : masks_(std::exchange(other.masks_, {})) {}
  MaskBuffers& operator=(MaskBuffers&& other) noexcept {
    std::swap(masks_, other.masks_);
    return *this;
  }
  ~MaskBuffers();

  size_t size() const { return masks_.size(); }
  /// Returns a mask; its pixels are borrowed.
  const FrameMask& operator[](size_t i) const { return masks_[i]; }

 private:
  std::vector<FrameMask> masks_;
};

/// Makes buffers for the masks of a frame's boxes in their order, without gaps between rows, in one
/// allocation that lives as long as any of them. Object pixels have the mask_region() of the index
/// among non-empty masks. Empty masks have no pixels, nor has any mask if memory is exhausted.
/// @param first index of the first mask in the frame.
MaskBuffers make_mask_buffers(std::span<const Mask> masks, size_t first = 0);

/// Maps the pixels of a mask for its lifetime.
class MaskView {
 public:
  /// @param mask borrowed; may be nullptr. GRAY8 or 16 bits, with a GstVideoMeta.
  explicit MaskView(GstBuffer* mask);
  MaskView(const MaskView&) = delete;
  MaskView& operator=(const MaskView&) = delete;
  ~MaskView();

  /// True if it is a mask, and as large as its meta declares.
  explicit operator bool() const { return data_ != nullptr; }
  const guint8* row(guint y) const { return data_ + gsize{y} * stride_; }
  guint width() const { return width_; }
  guint height() const { return height_; }
  GstVideoFormat format() const { return format_; }
  guint pixel_bytes() const { return format_ == GST_VIDEO_FORMAT_GRAY8 ? 1 : 2; }

 private:
  GstBuffer* mask_;
  GstMapInfo info_{};
  const guint8* data_ = nullptr;
  guint width_ = 0, height_ = 0;
  gsize stride_ = 0;
  GstVideoFormat format_ = GST_VIDEO_FORMAT_UNKNOWN;
};

/// True if it is the format of a FrameMask: GRAY8 with a GstVideoMeta.
bool is_mask(GstBuffer* pixels);

/// Maps a mask: the pixels stay the same if neither axis is reversed; otherwise new ones are made
/// in the rows of the new picture. Exact for flips and quarter turns.
/// @param pixels borrowed. @return transfer full in `pixels`, nullptr if unreadable.
FrameMask moved_mask(GstBuffer* pixels, const Box& place, const PixelMap& map);

// Finds the pixels of a frame that a mask covers.

/// True if the mask's pixels are readable, and in the format of a FrameMask.
inline bool is_mask(const MaskView& mask) {
  return mask && mask.format() == GST_VIDEO_FORMAT_GRAY8;
}

/// Pixels of a line, from first up to but not including last.
struct PixelRun {
  int first = 0, last = 0;
  friend constexpr bool operator==(const PixelRun&, const PixelRun&) = default;
};

/// Returns an axis of a mask. @param low, high its area, in frame pixels. @param count its pixels.
/// @param limit pixels of the frame.
MaskSide mask_side(float low, float high, int count, uint32_t limit);

/// A mask enlarged to its area, line by line, by the rules of core/formula/mask.h.
class MaskRuns {
 public:
  enum class Lines { kRows, kColumns };

  /// @param mask outlives this. @param place in frame pixels; without an area, nothing is covered.
  /// @pre is_mask(mask)
  MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines);

  /// Return the rows or columns of the frame that may have pixels of the object, and the pixels of
  /// a line.
  PixelRun lines() const { return {down_.first, down_.last}; }
  PixelRun reach() const { return {along_.first, along_.last}; }

  /// Returns the object's pixels in one of lines(), ascending and separate; valid until the next
  /// call.
  std::span<const PixelRun> of(int line);

 private:
  /// A change of two adjacent lines of the mask: bit 0 is the pixel of the second one, bit 1 that
  /// of the first one.
  struct Change {
    int at, before, now;
  };
  void find_changes(int above);
  void add(PixelRun run);

  const uint8_t* data_;
  MaskSide down_, along_;
  std::ptrdiff_t down_stride_, along_stride_;  // bytes from one mask pixel to the next
  std::vector<PixelRun> runs_;
  std::vector<Change> changes_;  // of the line `above_` and the next one
  int above_ = -1, first_ = 0;   // and the pixels that these begin with
};

}  // namespace keepbox
