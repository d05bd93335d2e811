// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of objects as GStreamer has them: buffers of GRAY8 with a GstVideoMeta.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/box.h"
#include "gst/metas/analytics.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// What the pixels of a frame's masks are where the objects are: 1 to 10 in turn, for
/// segmentationoverlay tells no more apart as it comes. @param index of the mask among them.
constexpr uint8_t mask_region(size_t index) { return static_cast<uint8_t>(index % 10 + 1); }

/// A mask as it was decoded.
struct MaskPixels {
  const uint8_t* pixels = nullptr;  // 0 where the object is not; rows without gaps; borrowed
  uint32_t width = 0, height = 0;   // pixels of the mask
  Box place;  // what they cover: pixels of the frame; beside padding the last ones go over its edge
};

/// Owns the buffers of a frame's masks. Whoever keeps one longer takes a reference.
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
  /// Its pixels are borrowed from here.
  const FrameMask& operator[](size_t i) const { return masks_[i]; }

 private:
  std::vector<FrameMask> masks_;
};

/// Buffers for the masks of a frame's boxes in their order, without gaps between rows, in one
/// allocation that lives as long as one of them. The pixels of objects are mask_region() of the
/// place among those that are not empty; an empty one is a FrameMask without pixels. So are all where
/// there is no memory for them.
MaskBuffers make_mask_buffers(std::span<const MaskPixels> masks);

/// The pixels of a mask, mapped while this lives.
class MaskView {
 public:
  /// @param mask borrowed; nullptr is none. Of GRAY8 or 16 bits, with a GstVideoMeta.
  explicit MaskView(GstBuffer* mask);
  MaskView(const MaskView&) = delete;
  MaskView& operator=(const MaskView&) = delete;
  ~MaskView();

  /// Is it a mask, as long as its meta says?
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

/// Is it a FrameMask's: GRAY8 with a GstVideoMeta?
bool is_mask(GstBuffer* pixels);

/// A mask where a map moves it: the same pixels where neither axis turns around; else others, whose
/// rows are the new picture's. Exact for flips and quarter turns.
/// @param pixels borrowed. @return transfer full in `pixels`, nullptr where it cannot be read.
FrameMask moved_mask(GstBuffer* pixels, const Box& place, const PixelMap& map);

}  // namespace keepbox
