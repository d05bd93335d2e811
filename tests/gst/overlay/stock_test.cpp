// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's own overlays draw what is attached.
#include <algorithm>
#include <cmath>

#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::plain_box;

constexpr guint kSide = 64;

bool exists(const char* name) {
  GstElementFactory* factory = gst_element_factory_find(name);
  if (factory != nullptr) gst_object_unref(factory);
  return factory != nullptr;
}

/// Returns a black frame with an overlay. @return BGRx, rows without gaps; empty after a failure.
std::vector<guint8> drawn(const std::string& overlay, std::span<FrameBox> boxes) {
  test::Harness h(overlay, "video/x-raw,format=BGRx,width=64,height=64,framerate=30/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSide * kSide * 4, nullptr);
  gst_buffer_memset(frame, 0, 0, kSide * kSide * 4);
  test::attach(frame, boxes, {.frame = {kSide, kSide}});
  const Buffer out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  std::vector<guint8> bytes(kSide * kSide * 4);
  if (out) gst_buffer_extract(out.get(), 0, bytes.data(), bytes.size());
  return bytes;
}

bool is_colored(const std::vector<guint8>& picture, guint x, guint y) {
  const guint8* at = picture.data() + (y * kSide + x) * 4;
  return std::any_of(at, at + 3, [](guint8 v) { return v != 0; });
}

TEST(StockOverlay, DrawsBoxes) {
  if (!exists("objectdetectionoverlay")) GTEST_SKIP() << "there is no objectdetectionoverlay";
  FrameBox box = plain_box({16, 20, 40, 44});
  const auto picture = drawn("objectdetectionoverlay draw-labels=false", std::span(&box, 1));
  EXPECT_TRUE(is_colored(picture, 28, 20) || is_colored(picture, 28, 19));
  EXPECT_FALSE(is_colored(picture, 28, 32));
  EXPECT_FALSE(is_colored(picture, 4, 4));
}

TEST(StockOverlay, DrawsMasks) {
  if (!exists("segmentationoverlay")) GTEST_SKIP() << "there is no segmentationoverlay";
  // Eleven, so that regions wrap around; the left halves of squares of four.
  constexpr uint32_t kHalf[] = {0b01, 0b01};
  std::vector<Mask> pixels;
  std::vector<FrameBox> list;
  for (int i = 0; i < 11; ++i) {
    const auto x = static_cast<float>(i % 6 * 10), y = static_cast<float>(i / 6 * 10);
    pixels.push_back({kHalf, 1, 0, 2, 2, {x, y, x + 8, y + 8}});
    list.push_back(plain_box(pixels.back().place));
  }
  const MaskBuffers masks = make_mask_buffers(pixels);
  for (size_t i = 0; i < list.size(); ++i) list[i].mask = masks[i];
  const auto picture = drawn("segmentationoverlay", list);
  for (guint i = 0; i < 11; ++i) {
    EXPECT_TRUE(is_colored(picture, i % 6 * 10 + 2, i / 6 * 10 + 3)) << i;
    EXPECT_FALSE(is_colored(picture, i % 6 * 10 + 6, i / 6 * 10 + 3)) << i;
  }
}

}  // namespace
}  // namespace keepbox
