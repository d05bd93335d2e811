// SPDX-License-Identifier: LGPL-2.1-or-later
// More parts of objects than a frame has room for.
#include <algorithm>

#include "gst/metas/boxes.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::manyparts_test {
namespace {

using test::Buffer;
using test::Harness;

const std::string kScene = test::raw("RGB", 320, 240);

FrameBox object(Box box) {
  return {
      .box = box, .score = 0.5f, .label = g_quark_from_string("car"), .class_id = 0, .anchor = 0};
}

/// Makes a frame with two objects, a part in each, and that many mtds that are not boxes.
GstBuffer* scene(gsize others) {
  GstBuffer* out = test::painted(kScene, test::patches({80, 72, 104, 88}, {216, 152, 240, 176}));
  GstAnalyticsRelationMetaInitParams params{others + 10, 1 << 20};
  auto* meta = gst_buffer_add_analytics_relation_meta_full(out, &params);
  FrameBox objects[] = {object({64, 48, 128, 112}), object({200, 128, 264, 192})};
  EXPECT_TRUE(attach_boxes(out, objects, {.frame = {320, 240}}));
  for (gsize i = 0; i < others; ++i) {
    GstAnalyticsClsMtd cls;
    EXPECT_TRUE(gst_analytics_relation_meta_add_one_cls_mtd(meta, 0.5f, 1, &cls));
  }
  return out;
}

std::vector<FrameBox> parts(const Buffer& out) {
  std::vector<FrameBox> found;
  if (out) read_boxes(out.get(), found, nullptr, {320, 240});
  std::erase_if(found, [](const FrameBox& box) { return !box.parent; });
  return found;
}

class ManyParts : public test::Inference {};

TEST_F(ManyParts, AreTheBestOnesWithOneWarning) {
  const std::string line =
      infer(test::ultralytics_like({64, 64}), "regions=objects") + " ! boxdecode";
  Harness all(line, kScene);
  const auto found = parts(all.run(scene(0)));
  ASSERT_EQ(found.size(), 2u) << all.error();
  EXPECT_EQ(all.warning(), "");
  const FrameBox best = *std::ranges::max_element(found, {}, &FrameBox::score);
  Harness h(line, kScene);
  for (int i = 0; i < 2; ++i) {
    const auto kept = parts(h.run(scene(kMaxMtds - 5)));  // 2 objects, their records and pictures
    ASSERT_EQ(kept.size(), 1u) << h.error();
    EXPECT_EQ(kept[0].parent, best.parent);
    EXPECT_EQ(kept[0].box, best.box);
  }
  EXPECT_NE(h.warning().find("max-detections="), std::string::npos);
  EXPECT_EQ(h.warning(), "");
}

}  // namespace
}  // namespace keepbox::manyparts_test
