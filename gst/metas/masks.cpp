// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes, maps and rotates buffers of masks.
#include "gst/metas/masks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace keepbox {
namespace {

gsize bytes_of(const Mask& mask) { return gsize{mask.width} * mask.height; }

/// Makes a buffer without gaps between rows: gst_buffer_add_video_meta() would pad rows to four
/// bytes, and segmentationoverlay uses the width as the stride.
GstBuffer* mask_buffer(GstMemory* memory, GstVideoFormat format, guint width, guint height,
                       gint stride) {
  GstBuffer* out = gst_buffer_new();
  gst_buffer_append_memory(out, memory);
  const gsize offset[GST_VIDEO_MAX_PLANES] = {};
  const gint strides[GST_VIDEO_MAX_PLANES] = {stride};
  gst_buffer_add_video_meta_full(out, GST_VIDEO_FRAME_FLAG_NONE, format, width, height, 1, offset,
                                 strides);
  return out;
}

/// Returns nullptr if memory is exhausted, when GStreamer's own allocator would abort the process.
GstMemory* written(gsize bytes, auto write) {
  auto* data = static_cast<guint8*>(g_try_malloc(bytes));
  if (data == nullptr) return nullptr;
  write(data);
  return gst_memory_new_wrapped(GstMemoryFlags(0), data, bytes, 0, bytes, data, g_free);
}

/// Writes eight pixels, the first of the lowest bit. @param value inside the object.
void write_eight(uint32_t bits, uint8_t value, guint8* out) {
  // Each byte keeps its own bit, which an addition carries into the byte's highest one.
  constexpr uint64_t kOwnBits = 0x8040201008040201, kOnes = 0x0101010101010101;
  const uint64_t own = kOnes * (bits & 0xff) & kOwnBits;
  const uint64_t pixels = GUINT64_TO_LE(((own + 0x7f * kOnes) >> 7 & kOnes) * value);
  std::memcpy(out, &pixels, sizeof pixels);
}

/// Writes a row of pixels with that value inside the object, otherwise 0.
void write_row(const Mask& mask, guint y, uint8_t value, guint8* out) {
  const uint32_t* row = mask.row(y);
  const auto bits_at = [&](guint x) {
    const guint at = mask.first + x, shift = at % kWordPixels;
    const uint32_t* word = row + at / kWordPixels;
    const guint left = mask.stride - at / kWordPixels;
    const uint64_t two = left > 1 ? uint64_t{word[1]} << 32 | word[0] : word[0];
    return static_cast<uint32_t>(two >> shift);
  };
  guint x = 0;
  for (; x + kWordPixels <= mask.width; x += kWordPixels) {
    const uint32_t bits = bits_at(x);
    if (bits == 0 || bits == ~0u) std::memset(out + x, bits == 0 ? 0 : value, kWordPixels);
    else
      for (guint i = 0; i < kWordPixels; i += 8) write_eight(bits >> i, value, out + x + i);
  }
  for (; x < mask.width; ++x) out[x] = mask.at(x, y) ? value : 0;
}

void write_regions(std::span<const Mask> masks, size_t index, guint8* out) {
  for (const Mask& mask : masks) {
    if (bytes_of(mask) == 0) continue;
    const uint8_t region = mask_region(index++);
    for (guint y = 0; y < mask.height; ++y, out += mask.width) write_row(mask, y, region, out);
  }
}

bool keeps_rows(const PixelMap& map) {
  const auto& m = map.rows();
  return m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[0] * m[8] > 0 && m[4] * m[8] > 0;
}

bool swaps_axes(const PixelMap& map) {
  const auto& m = map.rows();
  return std::abs(m[1]) > std::abs(m[0]) && std::abs(m[3]) > std::abs(m[4]);
}

double side(float low, float high) { return double{high} - low; }

/// Resamples: each pixel is the one at its centre in the previous picture; 0 outside.
void turn(const MaskView& from, const Box& place, const PixelMap& back, const Box& to, guint width,
          guint height, guint8* out) {
  const guint bytes = from.pixel_bytes();
  for (guint y = 0; y < height; ++y)
    for (guint x = 0; x < width; ++x, out += bytes) {
      const auto was = back.point(to.x1 + (x + 0.5) / width * side(to.x1, to.x2),
                                  to.y1 + (y + 0.5) / height * side(to.y1, to.y2));
      const double u = (was.x - place.x1) / side(place.x1, place.x2) * from.width();
      const double v = (was.y - place.y1) / side(place.y1, place.y2) * from.height();
      if (u >= 0 && v >= 0 && u < from.width() && v < from.height())
        std::memcpy(out, from.row(static_cast<guint>(v)) + gsize{static_cast<guint>(u)} * bytes,
                    bytes);
      else std::memset(out, 0, bytes);
    }
}

}  // namespace

MaskBuffers::~MaskBuffers() {
  for (const FrameMask& mask : masks_)
    if (mask.pixels != nullptr) gst_buffer_unref(mask.pixels);
}

MaskBuffers make_mask_buffers(std::span<const Mask> masks, size_t first) {
  gsize bytes = 0;
  for (const Mask& mask : masks) bytes += bytes_of(mask);
  std::vector<FrameMask> out(masks.size());
  if (bytes == 0) return MaskBuffers(std::move(out));
  GstMemory* all = written(bytes, [&](guint8* data) { write_regions(masks, first, data); });
  if (all == nullptr) return MaskBuffers(std::move(out));
  gsize at = 0;
  for (size_t i = 0; i < masks.size(); ++i) {
    const Mask& mask = masks[i];
    const gsize size = bytes_of(mask);
    if (size == 0) continue;
    GstMemory* part = gst_memory_share(all, static_cast<gssize>(at), static_cast<gssize>(size));
    out[i] = {mask_buffer(part, GST_VIDEO_FORMAT_GRAY8, mask.width, mask.height,
                          static_cast<gint>(mask.width)),
              mask.place, mask_region(first++)};
    at += size;
  }
  gst_memory_unref(all);
  return MaskBuffers(std::move(out));
}

MaskView::MaskView(GstBuffer* mask) : mask_(mask) {
  GstVideoMeta* meta = mask != nullptr ? gst_buffer_get_video_meta(mask) : nullptr;
  if (meta == nullptr || meta->width == 0 || meta->height == 0 || meta->stride[0] <= 0) return;
  format_ = meta->format;
  if (format_ != GST_VIDEO_FORMAT_GRAY8 && format_ != GST_VIDEO_FORMAT_GRAY16_LE &&
      format_ != GST_VIDEO_FORMAT_GRAY16_BE)
    return;
  stride_ = static_cast<gsize>(meta->stride[0]);
  width_ = meta->width;
  height_ = meta->height;
  const gsize row = gsize{width_} * pixel_bytes();
  if (!gst_buffer_map(mask, &info_, GST_MAP_READ)) return;
  const gsize offset = meta->offset[0];
  if (row <= stride_ && offset <= info_.size && row <= info_.size - offset &&
      (height_ - 1) <= (info_.size - offset - row) / stride_)
    data_ = info_.data + offset;
  else gst_buffer_unmap(mask, &info_);
}

MaskView::~MaskView() {
  if (data_ != nullptr) gst_buffer_unmap(mask_, &info_);
}

bool is_mask(GstBuffer* pixels) {
  const GstVideoMeta* meta = pixels != nullptr ? gst_buffer_get_video_meta(pixels) : nullptr;
  return meta != nullptr && meta->format == GST_VIDEO_FORMAT_GRAY8;
}

FrameMask moved_mask(GstBuffer* pixels, const Box& place, const PixelMap& map) {
  const Box to = map(place);
  if (keeps_rows(map)) return {gst_buffer_ref(pixels), to};
  const MaskView from(pixels);
  const auto back = map.inverse();
  if (!from || !back) return {};
  const guint width = swaps_axes(map) ? from.height() : from.width();
  const guint height = swaps_axes(map) ? from.width() : from.height();
  const gsize stride = gsize{width} * from.pixel_bytes();
  GstMemory* memory = written(
      stride * height, [&](guint8* data) { turn(from, place, *back, to, width, height, data); });
  if (memory == nullptr) return {};
  return {mask_buffer(memory, from.format(), width, height, static_cast<gint>(stride)), to};
}

MaskSide mask_side(float low, float high, int count, uint32_t limit) {
  MaskSide side{.low = low, .step = (double{high} - low) / count, .count = count};
  if (!std::isfinite(side.step) || side.step <= 0) return side;
  const auto first_from = [&](double edge) {
    return static_cast<int>(std::clamp(std::ceil(edge - 0.5), 0.0, double(limit)));
  };
  side.first = first_from(low);
  side.last = first_from(high);
  return side;
}

MaskRuns::MaskRuns(const MaskView& mask, const Box& place, Size frame, Lines lines)
    : data_(mask.row(0)),
      down_(mask_side(place.y1, place.y2, static_cast<int>(mask.height()), frame.height)),
      along_(mask_side(place.x1, place.x2, static_cast<int>(mask.width()), frame.width)),
      down_stride_(mask.row(1) - mask.row(0)),
      along_stride_(1) {
  if (lines == Lines::kColumns) {
    std::swap(down_, along_);
    std::swap(down_stride_, along_stride_);
  }
  if (along_.first >= along_.last) down_.first = down_.last = 0;
}

/// Adds a run. The part of the mask between two runs may be too small for a frame pixel.
void MaskRuns::add(PixelRun run) {
  if (run.first >= run.last) return;
  if (!runs_.empty() && runs_.back().last >= run.first) runs_.back().last = run.last;
  else runs_.push_back(run);
}

/// Compares a line of the mask with the next one, for all lines of the frame between the two.
void MaskRuns::find_changes(int above) {
  if (above == above_) return;
  above_ = above;
  const int below = std::min(above + 1, down_.count - 1);
  const uint8_t *first = data_ + above * down_stride_, *second = data_ + below * down_stride_;
  const auto both = [&](int i) {
    const std::ptrdiff_t offset = i * along_stride_;
    return 2 * (first[offset] != 0) + (second[offset] != 0);
  };
  changes_.clear();
  int before = first_ = both(0);
  for (int i = 1; i < along_.count; ++i)
    if (const int now = both(i); now != before) {
      changes_.push_back({i, before, now});
      before = now;
    }
}

std::span<const PixelRun> MaskRuns::of(int line) {
  const MaskLines lines = lines_at(down_, line);
  find_changes(lines.above);
  runs_.clear();
  bool inside = lines.inside(first_);
  int start = along_.first;
  for (const Change& each : changes_) {
    const bool is = lines.inside(each.now);
    if (is == inside) continue;
    inside = is;
    const int edge = crossing(along_, each.at - 1, lines.level(each.before), lines.level(each.now));
    if (is) start = edge;
    else add({start, edge});
  }
  if (inside) add({start, along_.last});
  return runs_;
}

}  // namespace keepbox
