// SPDX-License-Identifier: LGPL-2.1-or-later
// Model families in files, and properties that default to the family's values.
#include <cstdint>

#include "core/model/detector.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::empty_frame;
using test::Harness;
using test::TempDir;
using test::Tensor;

const std::string kRowsFile =
    "[detector]\nreader=ready\nbox-column=2\nscore-column=1\nclass-id-column=0\n"
    "coding=top-left-size\nbox-units=pixels\n";

GstBuffer* frame_of(const Tensor& tensor) {
  GstBuffer* frame = empty_frame().release();
  test::attach(frame, tensor);
  return frame;
}

/// Rows of class, score, x, y, w, h: two boxes that overlap by 0.6, and one apart.
GstBuffer* frame_of_rows() {
  return frame_of({{2, 0.9f, 10, 20, 30, 40,  //
                    2, 0.5f, 10, 30, 30, 40,  //
                    0, 0.25f, 200, 20, 30, 40},
                   {1, 3, 6},
                   "rows"});
}

size_t count(Harness& h, GstBuffer* frame = frame_of_rows()) {
  const Buffer out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  return out ? boxes(out).size() : 0;
}

/// Returns the error of an element that starts with that family.
std::string error_at_start(const std::string& detector) {
  GstElement* element = gst_element_factory_make("boxdecode", nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  g_object_set(element, "detector", detector.c_str(), nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE) << detector;
  g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  g_autoptr(GError) error = nullptr;
  if (message != nullptr) gst_message_parse_error(message, &error, nullptr);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return error != nullptr ? error->message : "";
}

TEST(DetectorFileProperty, DecodesAndNamesClasses) {
  const TempDir dir;
  dir.write("names", "a\nb\nc\n");
  const std::string path = dir.write("box.detector", kRowsFile + "label-file=names\n");
  for (const char* backend : {"reference", "simd"}) {
    Harness h("boxdecode backend=" + std::string(backend) + " detector=" + path);
    const Buffer out = h.run(frame_of_rows());
    ASSERT_TRUE(out) << h.error();
    const auto found = test::ods(out);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], (test::Od{"c", 10, 20, 30, 40, 0.9f}));
    EXPECT_EQ(test::stat_text(h.element(), "detector"), "box");
  }
  dir.write("others", "x\ny\nz\n");
  Harness own("boxdecode detector=" + path + " label-file=" + (dir / "others"));
  const Buffer out = own.run(frame_of_rows());
  ASSERT_TRUE(out) << own.error();
  EXPECT_EQ(test::ods(out)[0].label, "z");
}

TEST(DetectorFileProperty, ErrorPreventsTheStart) {
  const TempDir dir;
  const std::string path = dir.write("box.detector", kRowsFile + "codin=corners\n");
  const std::string error = error_at_start(path);
  EXPECT_TRUE(error.starts_with(path + ":8: codin: expected ")) << error;
  EXPECT_TRUE(error.ends_with("found \"codin\"")) << error;
  dir.write("good.detector", kRowsFile + "label-file=none\n");
  EXPECT_TRUE(error_at_start(dir / "good.detector").contains(dir / "none"));
  EXPECT_TRUE(error_at_start("./none.detector").contains("none.detector"));
  EXPECT_TRUE(error_at_start("yolov99").contains("yolov99"));
  EXPECT_TRUE(error_at_start("box.detctor").contains("ends in .detector"));
}

TEST(DetectorFileProperty, ChangesWhileStreaming) {
  const TempDir dir;
  Harness h("boxdecode detector=" + dir.write("a.detector", kRowsFile) + " iou-threshold=1");
  EXPECT_EQ(count(h), 2u);
  h.set("detector",
        dir.write("b.detector", kRowsFile + "nms-method=none\nscore-threshold=0.6\n").c_str());
  EXPECT_EQ(count(h), 1u);
  h.set("detector", "yolov10");
  EXPECT_EQ(count(h, test::frame_with({{10, 20, 300, 400, 0.9f, 1}})), 1u);
  h.set("detector", nullptr);
  EXPECT_EQ(count(h, test::frame_with({{10, 20, 300, 400, 0.9f, 1}})), 1u);
  h.set("detector", dir.write("c.detector", "[detector]\nreader=x\n").c_str());
  EXPECT_EQ(count(h, test::frame_with({{10, 20, 300, 400, 0.9f, 1}})), 1u) << "as before";
  std::string warnings, each;
  while (!(each = h.warning()).empty()) warnings += each + '\n';
  EXPECT_TRUE(warnings.contains("c.detector:2: reader: ")) << warnings;
}

TEST(DetectorFileProperty, ThresholdsApplyUntilSet) {
  const TempDir dir;
  const std::string path =
      dir.write("box.detector", kRowsFile + "score-threshold=0.2\niou-threshold=0.9\n");
  Harness h("boxdecode detector=" + path);
  EXPECT_EQ(count(h), 3u);
  h.set("iou-threshold", 0.45);
  EXPECT_EQ(count(h), 2u);
  h.set("score-threshold", 0.25);  // the default value, but set explicitly
  EXPECT_EQ(count(h), 1u);
  Harness both("boxdecode score-threshold=0.25 iou-threshold=0.45 detector=" + path);
  EXPECT_EQ(count(both), 1u);
}

TEST(DetectorFileProperty, ContractAppliesUntilSet) {
  const TempDir dir;
  const std::string path = dir.write("box.detector", kRowsFile + "nms-contract=deepstream\n");
  Harness h("boxdecode detector=" + path);  // accepts a score at the threshold
  EXPECT_EQ(count(h), 2u);
  h.set("nms-contract", 1);  // exact
  EXPECT_EQ(count(h), 1u);
}

/// Makes YOLOv8 planes with one anchor of two classes that pass, in a grid of 84.
GstBuffer* frame_of_labels() {
  constexpr size_t kAnchors = 84;
  Tensor planes{std::vector<float>(6 * kAnchors), {1, 6, kAnchors}};
  for (const auto& [channel, value] :
       {std::pair<size_t, float>{0, 30}, {1, 30}, {2, 20}, {3, 20}, {4, 0.9f}, {5, 0.8f}})
    planes.values[channel * kAnchors] = value;
  return frame_of(planes);
}

TEST(DetectorFileProperty, MultiLabelAppliesUntilSet) {
  constexpr const char* kRgb = "video/x-raw,format=RGB,width=64,height=64";
  const TempDir dir;
  const std::string path =
      dir.write("box.detector", "[detector]\nbase=yolov8\nbox-units=pixels\nmulti-label=true\n");
  for (const auto& [line, expected] : {std::pair<std::string, size_t>{"yolov8", 1},
                                       {"yolov8 multi-label=true", 2},
                                       {path, 2},
                                       {path + " multi-label=false", 1}}) {
    Harness h("boxdecode detector=" + line, kRgb);
    EXPECT_EQ(count(h, frame_of_labels()), expected) << line;
  }
}

TEST(DetectorFileProperty, QuantizesIntegers) {
  const TempDir dir;
  const std::string path =
      dir.write("box.detector", kRowsFile + "[tensor all]\nids=rows\nscale=0.5\nzero-point=-10\n");
  const std::vector<int16_t> stored{-6, -8, 10, 30, 50, 70};  // 2, 1, 10, 20, 30, 40
  const auto frame = [&](const char* id) {
    GstBuffer* out = empty_frame().release();
    add_tensor(out, id, DataType::kInt16, {1, 1, 6}, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
               test::data_buffer(stored.data(), stored.size() * sizeof stored[0]));
    return out;
  };
  Harness h("boxdecode detector=" + path);
  const Buffer out = h.run(frame("rows"));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(test::ods(out).size(), 1u);
  EXPECT_EQ(test::ods(out)[0], (test::Od{"class-2", 10, 20, 30, 40, 1}));
  h.set("quantization", "rows:0.25:-10");  // the property overrides the file
  const Buffer smaller = h.run(frame("rows"));
  ASSERT_TRUE(smaller) << h.error();
  EXPECT_EQ(test::ods(smaller).at(0).w, 15);
  Harness other("boxdecode detector=" + path);
  EXPECT_FALSE(other.run(frame("others")));
  EXPECT_TRUE(other.error().contains("quantization="));
}

TEST(DetectorFileProperty, WarnsOfLabelsWithoutALeadingBackground) {
  const TempDir dir;
  const std::string path =
      dir.write("box.detector",
                "[detector]\nreader=split\nbox-units=normalized\nbackground=first\n"
                "[tensor boxes]\nids=boxes\n[tensor scores]\nids=scores\n");
  for (const auto& [labels, label] : {std::pair<std::string, std::string>{"cat\ndog\n", "class-2"},
                                      {"none\ncat\ndog\n", "dog"}}) {
    Harness h("boxdecode detector=" + path + " label-file=" + dir.write("names", labels));
    GstBuffer* frame = frame_of({{0.5f, 0.5f, 0.2f, 0.4f}, {1, 1, 4}, "boxes"});
    test::attach(frame, {{0.1f, 0.2f, 0.9f}, {1, 1, 3}, "scores"});
    const Buffer out = h.run(frame);
    ASSERT_TRUE(out) << h.error();
    ASSERT_EQ(test::ods(out).size(), 1u);
    EXPECT_EQ(test::ods(out)[0].label, label);
    EXPECT_EQ(h.warning().contains("classes and the background in"), label != "dog");
  }
}

TEST(DetectorFileProperty, ManualListsEveryFamily) {
  GstElement* element = gst_element_factory_make("boxdecode", nullptr);
  const std::string blurb =
      g_param_spec_get_blurb(g_object_class_find_property(G_OBJECT_GET_CLASS(element), "detector"));
  for (const DetectorSpec& spec : detectors())
    EXPECT_TRUE(blurb.contains(" " + std::string(spec.name) + ": " + std::string(spec.summary)));
  gst_object_unref(element);
}

}  // namespace
}  // namespace keepbox
