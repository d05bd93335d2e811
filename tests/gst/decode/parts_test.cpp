// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes that a second detector finds in the images of objects.
#include <cmath>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::parts_test {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::painted;
using test::raw;
using test::Rect;

constexpr int kWidth = 320, kHeight = 240;
const std::string kScene = raw("RGB", kWidth, kHeight);

FrameBox object(Box box, float angle = 0, const char* label = "car") {
  return {.box = box,
          .score = 0.5f,
          .angle = angle,
          .label = g_quark_from_string(label),
          .class_id = 0,
          .anchor = 0};
}

/// Returns the boxes that are parts of others.
std::vector<FrameBox> parts(const Buffer& out) {
  std::vector<FrameBox> found;
  if (out) read_boxes(out.get(), found, nullptr, {kWidth, kHeight});
  std::erase_if(found, [](const FrameBox& box) { return !box.parent; });
  return found;
}

float apart(const Box& a, const Box& b) {
  return std::max(
      {std::abs(a.x1 - b.x1), std::abs(a.y1 - b.y1), std::abs(a.x2 - b.x2), std::abs(a.y2 - b.y2)});
}

class PartsOfObjects : public test::Inference {
 protected:
  /// Returns a detector of objects' red and blue patches, for images of 64 x 64.
  std::string line(const std::string& of_decoder = "", const std::string& of_infer = "") {
    return infer(test::ultralytics_like({64, 64}), "regions=objects " + of_infer) +
           " ! boxdecode name=decode " + of_decoder;
  }
  static GstBuffer* frame(const test::Paint& paint, std::vector<FrameBox> boxes) {
    GstBuffer* out = painted(kScene, paint);
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    return out;
  }
  /// A red patch in the first object, a blue one in the second, nothing in the third.
  static GstBuffer* scene() {
    return frame(
        test::patches({80, 72, 104, 88}, {216, 152, 240, 176}),
        {object({64, 48, 128, 112}), object({200, 128, 264, 192}), object({0, 160, 64, 224})});
  }
};

TEST_F(PartsOfObjects, AreBoxesOfTheFrame) {
  Harness h(line(), kScene);
  const Buffer out = h.run(scene());
  ASSERT_TRUE(out) << h.error();
  const auto found = parts(out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LT(apart(found[0].box, {80, 72, 104, 88}), 1);
  EXPECT_LT(apart(found[1].box, {216, 152, 240, 176}), 1);
  EXPECT_EQ(found[0].parent, 0u);
  EXPECT_EQ(found[1].parent, 1u);
  EXPECT_EQ(found[0].label, g_quark_from_string("disc"));
  EXPECT_EQ(found[0].angle, 0);
  EXPECT_EQ(h.warning(), "");
}

/// Applications without keepbox find them by GStreamer's relations.
TEST_F(PartsOfObjects, AreRelatedInBothDirections) {
  Harness h(line("also-attach=roi"), kScene);
  const Buffer out = h.run(scene());
  ASSERT_TRUE(out) << h.error();
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  const FrameBox part = parts(out).at(1);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, part.od_id, 1),
            GST_ANALYTICS_REL_TYPE_IS_PART_OF);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, 1, part.od_id),
            GST_ANALYTICS_REL_TYPE_CONTAIN);
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(out.get(), gint(part.od_id));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(region->parent_id, 1);
}

/// The boxes are those of a frame that shows nothing but the object, in any batch.
TEST_F(PartsOfObjects, AreThoseOfACroppedFrame) {
  const Rect red{80, 72, 104, 88};
  const std::string small = raw("RGB", 64, 64);
  Harness alone(infer(test::ultralytics_like({64, 64})) + " ! boxdecode", small);
  const auto moved = [&](int x, int y) { return test::patches(red)(x + 70, y + 50); };
  const auto want = test::boxes(alone.run(painted(small, moved)));
  ASSERT_EQ(want.size(), 1u);
  for (const char* backend : {"reference", "simd"}) {
    Harness h(line(std::string("backend=") + backend), kScene);
    const auto found = parts(
        h.run(frame(test::patches(red), {object({0, 0, 64, 64}), object({70, 50, 134, 114})})));
    ASSERT_EQ(found.size(), 1u) << h.error();
    const Box& box = want[0].box;
    EXPECT_LT(apart(found[0].box, {box.x1 + 70, box.y1 + 50, box.x2 + 70, box.y2 + 50}), 1e-3f);
    EXPECT_EQ(found[0].score, want[0].score);
    EXPECT_EQ(found[0].anchor, want[0].anchor);
  }
}

TEST_F(PartsOfObjects, AreNotSuppressedAcrossObjects) {
  Harness h(line(), kScene);
  const auto found = parts(h.run(frame(test::patches({80, 72, 104, 88}),
                                       {object({64, 48, 128, 112}), object({72, 56, 136, 120})})));
  ASSERT_EQ(found.size(), 2u) << h.error();
  EXPECT_EQ(found[0].parent, 0u);
  EXPECT_EQ(found[1].parent, 1u);
  EXPECT_LT(apart(found[0].box, found[1].box), 1);
}

TEST_F(PartsOfObjects, DoNotStayWithoutObjects) {
  Harness h(line(), kScene);
  const test::Paint paint = test::patches({80, 72, 104, 88});
  for (int i = 0; i < 2; ++i) {
    Buffer out = h.run(frame(paint, {}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(parts(out).size(), 0u);
    out = h.run(frame(paint, {object({64, 48, 128, 112})}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(parts(out).size(), 1u);
    out = h.run(frame(paint, {object({0, 160, 64, 224}), object({200, 128, 264, 192})}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(parts(out).size(), 0u);
  }
  EXPECT_EQ(h.warning(), "");
}

/// Paints a red rectangle, rotated about a point, at the given offset from it.
test::Paint turned_patch(float angle, double x, double y, Rect red) {
  return [=](int px, int py) -> test::Pixel {
    const double dx = px + 0.5 - x, dy = py + 0.5 - y;
    const double u = dx * std::cos(angle) + dy * std::sin(angle);
    const double v = -dx * std::sin(angle) + dy * std::cos(angle);
    const bool in = u >= red.x1 && u < red.x2 && v >= red.y1 && v < red.y2;
    return in ? test::Pixel{255, 0, 0} : test::Pixel{114, 114, 114};
  };
}

/// An oriented box is seen upright, and what is found in it is turned as it is.
TEST_F(PartsOfObjects, OfOrientedBoxesAreOriented) {
  const float angle = 0.5f;
  Harness h(line(), kScene);
  const auto found = parts(h.run(frame(turned_patch(angle, 160, 120, {-16, -8, 16, 8}),
                                       {object({112, 88, 208, 152}, angle)})));
  ASSERT_EQ(found.size(), 1u) << h.error();
  EXPECT_NEAR(found[0].angle, angle, 1e-3f);
  EXPECT_NEAR((found[0].box.x1 + found[0].box.x2) / 2, 160, 1);
  EXPECT_NEAR((found[0].box.y1 + found[0].box.y2) / 2, 120, 1);
  EXPECT_NEAR(found[0].box.x2 - found[0].box.x1, 32, 4);
  EXPECT_NEAR(found[0].box.y2 - found[0].box.y1, 16, 4);
}

/// Sizes and regions are of the frame, whatever the size of the model's input.
TEST_F(PartsOfObjects, AreFilteredOnTheFrame) {
  const test::Paint paint = turned_patch(0.5f, 160, 120, {-16, -8, 16, 8});
  const auto count = [&](const std::string& more) {
    Harness h(line(more), kScene);
    const size_t turned = parts(h.run(frame(paint, {object({112, 88, 208, 152}, 0.5f)}))).size();
    const size_t upright = parts(h.run(frame(paint, {object({96, 56, 224, 184})}))).size();
    EXPECT_EQ(turned, upright) << more;
    return turned;
  };
  EXPECT_EQ(count("regions=\"150,110,20,20\""), 1u);
  EXPECT_EQ(count("regions=\"0,0,64,64\""), 0u);
  EXPECT_EQ(count("regions=\"!0.4,0.4,0.2,0.2\""), 0u);
  EXPECT_EQ(count("min-size=10x10"), 1u);
  EXPECT_EQ(count("min-size=60x0"), 0u);
  EXPECT_EQ(count("max-size=14x14"), 0u);
}

TEST_F(PartsOfObjects, AreOfTheChosenModel) {
  Harness h(line("model-name=a") + " ! " +
                infer(test::ultralytics_like({64, 64}), "regions=objects objects-of=a grow=3") +
                " name=second ! boxdecode model-name=b",
            kScene);
  const Buffer out = h.run(frame(test::patches({80, 72, 104, 88}), {object({64, 48, 128, 112})}));
  const auto found = parts(out);
  ASSERT_EQ(found.size(), 2u) << h.error();
  EXPECT_EQ(found[0].parent, 0u);
  EXPECT_EQ(found[1].parent, found[0].od_id);
  EXPECT_EQ(found[1].model, g_quark_from_string("b"));
  EXPECT_LT(apart(found[0].box, found[1].box), 3);
}

/// framerestore brings them to the full frame, decoded or not.
TEST_F(PartsOfObjects, GoToTheFullFrame) {
  for (const char* end : {" ! boxdecode ! framerestore", " ! framerestore ! boxdecode"}) {
    Harness h(
        "framesave ! videoscale ! capsfilter caps=video/x-raw,width=160,height=120 ! identity "
        "name=put signal-handoffs=true ! " +
            infer(test::ultralytics_like({64, 64}), "regions=objects") + end,
        kScene);
    g_autoptr(GstElement) put = gst_bin_get_by_name(h.bin(), "put");
    const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
      std::vector<FrameBox> boxes{object({100, 64, 132, 96}), object({32, 24, 64, 56})};
      EXPECT_TRUE(attach_boxes(buffer, boxes, {.frame = {160, 120}}));
    };
    g_signal_connect(put, "handoff", G_CALLBACK(add), nullptr);
    const auto found = parts(h.run(painted(kScene, test::patches({80, 72, 104, 88}))));
    ASSERT_EQ(found.size(), 1u) << end << h.error();
    EXPECT_LT(apart(found[0].box, {80, 72, 104, 88}), 2) << end;
    EXPECT_EQ(found[0].parent, 1u) << end;
  }
}

/// A new frame size starts over, and so does a flush.
TEST_F(PartsOfObjects, FollowCapsAndFlushes) {
  Harness h(line(), kScene);
  ASSERT_EQ(parts(h.run(scene())).size(), 2u) << h.error();
  h.set_caps(raw("RGB", 160, 120));
  GstBuffer* small = painted(raw("RGB", 160, 120), test::patches({40, 36, 52, 44}));
  std::vector<FrameBox> boxes{object({32, 24, 64, 56})};
  ASSERT_TRUE(attach_boxes(small, boxes, {.frame = {160, 120}}));
  const auto found = parts(h.run(small));
  ASSERT_EQ(found.size(), 1u) << h.error();
  EXPECT_LT(apart(found[0].box, {40, 36, 52, 44}), 1);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  h.set_caps(kScene);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(parts(h.run(frame(test::patches({80, 72, 104, 88}), {}))).size(), 0u) << h.error();
  EXPECT_EQ(parts(h.run(scene())).size(), 2u) << h.error();
}

/// Tensors of frames come first, and do not hide those of objects for the next decoder.
TEST_F(PartsOfObjects, AreDecodedAfterTheFrame) {
  const std::string frames = "tensorinfer channel-order=rgb model-file=" +
                             file(test::ultralytics_like({240, 320}), "frames.onnx");
  Harness h(infer(test::ultralytics_like({64, 64}), "regions=objects") + " ! " + frames +
                " ! boxdecode ! boxdecode",
            kScene);
  const Buffer out = h.run(scene());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(parts(out).size(), 2u);
  EXPECT_EQ(test::boxes(out).size(), 3u + 2u + 2u);
}

/// Returns the numbers of boxes in the statistics.
std::vector<guint> image_boxes(Harness& h) {
  g_autoptr(GstElement) decode = gst_bin_get_by_name(h.bin(), "decode");
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(decode, "stats", &stats, nullptr);
  std::vector<guint> out;
  const GValue* list = gst_structure_get_value(stats, "image-boxes");
  for (guint i = 0; list != nullptr && i < gst_value_array_get_size(list); ++i)
    out.push_back(g_value_get_uint(gst_value_array_get_value(list, i)));
  return out;
}

TEST_F(PartsOfObjects, AreCounted) {
  Harness h(line(), kScene);
  h.run(scene());
  EXPECT_EQ(image_boxes(h), (std::vector<guint>{1, 1, 0}));
  h.run(frame(test::grey, {}));
  EXPECT_EQ(image_boxes(h), std::vector<guint>{});
  g_autoptr(GstElement) decode = gst_bin_get_by_name(h.bin(), "decode");
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(decode, "stats", &stats, nullptr);
  guint64 boxes = 0, skipped = 0;
  gst_structure_get(stats, "boxes", G_TYPE_UINT64, &boxes, "skipped-frames", G_TYPE_UINT64,
                    &skipped, nullptr);
  EXPECT_EQ(boxes, 2u);
  EXPECT_EQ(skipped, 1u);
  Harness tiled(
      infer(test::ultralytics_like({64, 64}), "tiles=2x1@0.5") + " ! boxdecode name=decode",
      kScene);
  const Buffer out = tiled.run(frame(test::patches({140, 100, 180, 140}), {}));
  ASSERT_TRUE(out) << tiled.error();
  EXPECT_EQ(test::boxes(out).size(), 1u);
  EXPECT_EQ(image_boxes(tiled), (std::vector<guint>{1, 1}));  // both show it
}

}  // namespace
}  // namespace keepbox::parts_test
