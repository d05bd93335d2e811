// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode under a harness: good frames, bad frames, labels, sizes of frames.
#include <gst/video/video.h>

#include <limits>

#include "gst/tensors/labels.h"
#include "tests/gst/decode/rows.h"
#include "tests/gst/frames.h"
#include "tests/recorded.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::expect_words;
using test::frame_with;
using test::Harness;
using test::kTwo;
using test::Od;
using test::ods;
using test::Tensor;

TEST(Boxdecode, AttachesBoxes) {
  Harness h("boxdecode");
  const Buffer out = h.run(frame_with(kTwo));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out), (std::vector<Od>{{"class-2", 10, 21, 100, 200, 0.9f},
                                       {"class-7", 300, 300, 40, 80, 0.6f}}));
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{10.4f, 20.6f, 110.2f, 220.7f}));
  EXPECT_EQ(found[0].class_id, 2u);
  EXPECT_EQ(found[1].anchor, 1u);
}

/// Readers know by all names, not by those of the boxes, whether classes are COCO's.
TEST(Boxdecode, MarksTheClassesOfCoco) {
  const test::TempDir dir;
  std::string names;
  for (const CocoClass& each : coco_classes()) names += each.name + '\n';
  for (const auto& [text, coco] : {std::pair(names, true), {"person\nhelmet\n\n", false}}) {
    Harness h("boxdecode label-file=" + dir.write("names", text));
    const auto found = boxes(h.run(frame_with({{10, 20, 110, 220, 0.9f, 0}})));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].label, g_quark_from_string("person"));
    EXPECT_EQ(found[0].coco, coco);
  }
}

TEST(Boxdecode, AttachesAnEmptyMetaToo) {
  Harness h("boxdecode");
  const Buffer out = h.run(frame_with({{0, 0, 10, 10, 0.1f, 0}}));
  ASSERT_TRUE(out);
  EXPECT_TRUE(ods(out).empty());
}

TEST(Boxdecode, DetectsTheUnitsAfterBlankFrames) {
  Harness h("boxdecode");
  for (int i = 0; i < 3; ++i) {
    const Buffer blank = h.run(frame_with({{}, {}}));
    ASSERT_TRUE(blank) << h.error();
    EXPECT_TRUE(ods(blank).empty());
  }
  const Buffer out = h.run(frame_with({{0.25f, 0.5f, 0.5f, 0.75f, 0.9f, 1}, {}}));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(boxes(out).size(), 1u);
  EXPECT_EQ(boxes(out)[0].box, (Box{160, 320, 320, 480}));
}

TEST(Boxdecode, RoundsToAtLeastAPixel) {
  Harness h("boxdecode");
  const Buffer out =
      h.run(frame_with({{10.1f, 10.1f, 10.2f, 10.3f, 0.9f, 0}, {100, 100, 200, 200, .8f, 0}}));
  ASSERT_TRUE(out);
  ASSERT_EQ(ods(out).size(), 2u);
  EXPECT_EQ(ods(out)[0], (Od{"class-0", 10, 10, 1, 1, 0.9f}));
}

TEST(Boxdecode, RoundsToPixelsOfTheFrame) {
  Harness h("boxdecode");
  const Buffer out = h.run(frame_with({{639.7f, 10, 640, 60, 0.9f, 0}}));
  ASSERT_TRUE(out);
  EXPECT_EQ(ods(out).at(0), (Od{"class-0", 639, 10, 1, 50, 0.9f}));
}

TEST(Boxdecode, StopsWithOneClearErrorWithoutTensors) {
  Harness h("boxdecode");
  EXPECT_FALSE(h.run(gst_buffer_new_allocate(nullptr, 64, nullptr)));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  EXPECT_NE(h.error().find("The frame has no tensors"), std::string::npos);
}

TEST(Boxdecode, WarnsOncePerCauseAndPassesFrames) {
  Harness h("boxdecode on-mismatch=warn");
  for (int i = 0; i < 3; ++i) {
    const Buffer out = h.run(gst_buffer_new_allocate(nullptr, 64, nullptr));
    ASSERT_TRUE(out);
    EXPECT_TRUE(ods(out).empty());
  }
  EXPECT_NE(h.warning(), "");
  EXPECT_EQ(h.warning(), "");
  ASSERT_TRUE(h.run(frame_with(kTwo)));
  ASSERT_TRUE(h.run(gst_buffer_new_allocate(nullptr, 64, nullptr)));
  EXPECT_EQ(h.warning(), "") << "a cause that came back is no news";
  EXPECT_EQ(h.error(), "");
}

TEST(Boxdecode, PassesSilentlyOnRequest) {
  Harness h("boxdecode on-mismatch=pass");
  const Buffer first = h.run(frame_with(kTwo));
  EXPECT_EQ(ods(first).size(), 2u);
  const Buffer second = h.run(gst_buffer_new_allocate(nullptr, 64, nullptr));
  ASSERT_TRUE(second);
  EXPECT_TRUE(ods(second).empty()) << "stale boxes";
  EXPECT_EQ(h.warning(), "");
}

/// Returns the error caused by one tensor.
std::string error_of(const char* id, DataType type, const Shape& shape, size_t bytes,
                     const char* line = "boxdecode") {
  Harness h(line);
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  const std::vector<char> data(bytes);
  add_tensor(frame, id, type, shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             test::data_buffer(data.data(), bytes));
  EXPECT_FALSE(h.run(frame));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  return h.error();
}

TEST(Boxdecode, ReportsWrongTensors) {
  expect_words(error_of("yolo-v8-out", DataType::kFloat32, {1, 84, 8400}, 1000),
               {"2822400 bytes", "yolo-v8-out 1x84x8400", "1000 bytes"});
  expect_words(error_of("yolo-v8-out", DataType::kInt8, {1, 84, 8400}, 84 * 8400),
               {"quantization=", "int8", "detector="});
  expect_words(error_of("yolo-v8-out", DataType::kFloat32, {1, 3, 4}, 48), {"C >= 5", "1x3x4"});
  expect_words(error_of("logits", DataType::kFloat32, {1, 1000}, 4000),
               {"logits 1x1000 float32", "a classifier with 1000 classes", "an object detection"});
  expect_words(error_of("x", DataType::kFloat32, {3, 4, 5, 6}, 1440),
               {"x 3x4x5x6 float32", "detector=", "tensor-ids="});
  expect_words(error_of("x", DataType::kFloat32, {1, 8400, 33}, 8400 * 33 * 4),
               {"which fits yolox (28 classes), yolov8 (29 classes), yolov5 (28 classes)",
                "detector=", "channel-order=bgr"});
  expect_words(error_of("a", DataType::kFloat32, {1, 300, 6}, 7200, "boxdecode tensor-ids=b"),
               {"id b", "a 1x300x6", "tensor-ids="});
  expect_words(error_of("yolo-v8-out", DataType::kFloat32, {2, 84, 525}, 2 * 84 * 525 * 4),
               {"a batch of 2 frames", "keepbox_buffers_add_tensor()", "tensorinfer batch-size="});
  expect_words(error_of("yolo-v8-out", DataType::kFloat32, {1, 84, SIZE_MAX / 100}, 1000),
               {"anchors"});
}

TEST(Boxdecode, TakesTensorsOfAnyMeta) {
  Harness h("boxdecode detector=yolo26");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  Tensor other{std::vector<float>(10), {1, 10}, "features"};
  test::attach(frame, other);
  test::attach(frame, test::rows(kTwo));
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out).size(), 2u);
}

TEST(Boxdecode, SurvivesNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Harness h("boxdecode");
  const Buffer out = h.run(frame_with({{nan, 0, 1, 1, 0.9f, 0},
                                       {0, 0, 9, 9, nan, 0},
                                       {10, 10, 20, 20, 0.5f, nan},
                                       {100, 100, 300, 300, 0.5f, 3}}));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(ods(out).size(), 1u);
  EXPECT_EQ(ods(out)[0].label, "class-3");
}

TEST(Boxdecode, NamesClassesByTheLabelFile) {
  const test::TempDir dir;
  Harness h("boxdecode label-file=" + dir.write("l", "a\nb\nc\n"));
  const Buffer out = h.run(frame_with(kTwo));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out)[0].label, "c");
  EXPECT_EQ(ods(out)[1].label, "class-7") << "beyond the file, so nobody else's name";
}

TEST(Boxdecode, RefusesBadLabelFilesAtTheStart) {
  const test::TempDir dir;
  for (const std::string& path :
       {dir / "missing", dir.write("empty", ""), dir.write("latin1", "caf\xe9\n")}) {
    GstElement* element = gst_element_factory_make("boxdecode", nullptr);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    g_object_set(element, "label-file", path.c_str(), nullptr);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ASSERT_NE(message, nullptr);
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    expect_words(error->message, {"label", path.c_str()});
    gst_message_unref(message);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus);
    gst_object_unref(element);
  }
}

TEST(Boxdecode, MapsToTheFrameWhateverItsSize) {
  Tensor tensor = test::rows({{0.25f, 0.5f, 0.75f, 1, 0.9f, 0}});
  Harness h("boxdecode", "video/x-raw,format=RGB,width=200,height=100");
  const auto run = [&] {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
    test::attach(frame, tensor);
    return ods(h.run(frame)).at(0);
  };
  EXPECT_EQ(run(), (Od{"class-0", 50, 50, 100, 50, 0.9f}));
  h.set_caps("video/x-raw,format=RGB,width=400,height=300");
  EXPECT_EQ(run(), (Od{"class-0", 100, 150, 200, 150, 0.9f}));
}

TEST(Boxdecode, UndoesALetterbox) {
  Tensor tensor = test::rows({{100, 240, 300, 340, 0.9f, 0}});
  Harness h("boxdecode model-size=640x640 resize-mode=letterbox-center",
            "video/x-raw,format=RGB,width=1920,height=1080");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, tensor);
  EXPECT_EQ(ods(h.run(frame)).at(0), (Od{"class-0", 300, 300, 600, 300, 0.9f}));
}

TEST(Boxdecode, UndoesACrop) {
  Tensor tensor = test::rows({{100, 240, 300, 340, 0.9f, 0}, {-250, 0, 0, 500, 0.8f, 0}});
  Harness h("boxdecode model-size=500x500 resize-mode=crop",
            "video/x-raw,format=RGB,width=2000,height=1000");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, tensor);
  const auto found = ods(h.run(frame));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (Od{"class-0", 700, 480, 400, 200, 0.9f}));
  EXPECT_EQ(found[1], (Od{"class-0", 0, 0, 500, 1000, 0.8f})) << "left of the crop";
}

TEST(Boxdecode, FollowsDynamicDimensions) {
  Harness h("boxdecode");
  for (size_t count = 0; count < 40; count += 3) {
    std::vector<test::Row> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back({float(i) * 15, 0, float(i) * 15 + 10, 20, 0.9f, 1});
    const Buffer out = h.run(frame_with(list));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(ods(out).size(), count);
  }
}

TEST(Boxdecode, WritesClassesAndRegionsOnRequest) {
  Harness h("boxdecode also-attach=class+roi");
  const Buffer out = h.run(frame_with(kTwo));
  ASSERT_TRUE(out);
  auto* relations = gst_buffer_get_analytics_relation_meta(out.get());
  gpointer state = nullptr;
  GstAnalyticsMtd od, cls;
  ASSERT_TRUE(gst_analytics_relation_meta_iterate(relations, &state,
                                                  gst_analytics_od_mtd_get_mtd_type(), &od));
  gpointer related = nullptr;
  ASSERT_TRUE(gst_analytics_relation_meta_get_direct_related(
      relations, od.id, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_cls_mtd_get_mtd_type(),
      &related, &cls));
  EXPECT_STREQ(g_quark_to_string(
                   gst_analytics_cls_mtd_get_quark(reinterpret_cast<GstAnalyticsClsMtd*>(&cls), 0)),
               "class-2");

  auto* roi = gst_buffer_get_video_region_of_interest_meta_id(out.get(), static_cast<gint>(od.id));
  ASSERT_NE(roi, nullptr);
  EXPECT_EQ(roi->x, 10u);
  EXPECT_EQ(roi->w, 100u);
  const GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection");
  ASSERT_NE(detection, nullptr);
  gdouble x_min = 0, x_max = 0, y_min = 0, y_max = 0, confidence = 0;
  gint label_id = 0;
  EXPECT_TRUE(gst_structure_get(detection, "x_min", G_TYPE_DOUBLE, &x_min, "x_max", G_TYPE_DOUBLE,
                                &x_max, "y_min", G_TYPE_DOUBLE, &y_min, "y_max", G_TYPE_DOUBLE,
                                &y_max, "confidence", G_TYPE_DOUBLE, &confidence, "label_id",
                                G_TYPE_INT, &label_id, nullptr));
  EXPECT_NEAR(x_min, 10.4 / 640, 1e-6);
  EXPECT_NEAR(x_max, 110.2 / 640, 1e-6);
  EXPECT_NEAR(y_min, 20.6 / 640, 1e-6);
  EXPECT_NEAR(y_max, 220.7 / 640, 1e-6);
  EXPECT_NEAR(confidence, 0.9, 1e-6);
  EXPECT_EQ(label_id, 2);
}

}  // namespace
}  // namespace keepbox
