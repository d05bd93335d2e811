// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks boxdecode against GStreamer's own YOLO decoders (yolov8tensordec, yolosegv8tensordec,
// yoloxtensordec). Tests named Differs... cover intentional differences.
#include "tests/gst/decode/upstream.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::attach_as;
using test::Buffer;
using test::Candidate;
using test::detect;
using test::empty_frame;
using test::frame_of;
using test::Harness;
using test::kVga;
using test::labels;
using test::objectness_rows;
using test::Od;
using test::ods;
using test::planes;
using test::Tensor;

const Candidate kPlain{320, 240, 100, 50, {0.9f}};

TEST(UpstreamDecoders, OneCandidateIsOneBox) {
  for (const auto order : {GST_TENSOR_DIM_ORDER_COL_MAJOR, GST_TENSOR_DIM_ORDER_ROW_MAJOR}) {
    Harness h("boxdecode", kVga);
    Buffer frame = empty_frame();
    attach_as(frame.get(), planes({kPlain}), order);
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << h.error();
    // Without names, GStreamer's decoders use one name for all classes; these differ.
    EXPECT_EQ(ods(out), (std::vector<Od>{{"class-0", 270, 215, 100, 50, 0.9f}}));
  }
}

TEST(UpstreamDecoders, ScoresBelowTheThresholdAreDropped) {
  Harness h("boxdecode score-threshold=0.8", kVga);
  const Buffer out = h.run(frame_of({planes({{200, 100, 40, 20, {0.6f}}})}));
  ASSERT_TRUE(out) << h.error();
  const auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(gst_analytics_relation_get_length(meta), 0u);
}

TEST(UpstreamDecoders, ScoreAtTheThresholdIsDropped) {
  EXPECT_TRUE(detect({planes({{200, 100, 40, 20, {0.5f}}})}, "score-threshold=0.5").empty());
}

TEST(UpstreamDecoders, TheBestClassGivesTheLabel) {
  const test::TempDir dir;
  const std::string file = "label-file=" + dir.write("names", "person\ncar\ndog\ncat\n");
  EXPECT_EQ(labels(detect({planes({{120, 80, 40, 20, {0.1f, 0.8f, 0.2f, 0.3f}}})}, file)),
            (std::vector<std::string>{"car"}));
  EXPECT_EQ(labels(detect({planes({{80, 80, 20, 20, {0.95f, 0.1f, 0.05f, 0.01f}},
                                   {160, 160, 20, 20, {0.1f, 0.2f, 0.91f, 0.3f}}})},
                          file)),
            (std::vector<std::string>{"person", "dog"}));
}

TEST(UpstreamDecoders, ClassWithoutANameIsCalledByItsNumber) {
  const test::TempDir dir;
  const std::string file = "label-file=" + dir.write("names", "person\n");
  EXPECT_EQ(
      labels(detect({planes({{80, 80, 20, 20, {0.9f, 0}}, {160, 160, 20, 20, {0, 0.8f}}})}, file)),
      (std::vector<std::string>{"person", "class-1"}));
}

TEST(UpstreamDecoders, WorseOfTwoOverlappingBoxesIsDropped) {
  EXPECT_EQ(detect({planes({{100, 100, 40, 40, {0.95f}}, {105, 105, 40, 40, {0.8f}}})},
                   "iou-threshold=0.3"),
            (std::vector<Od>{{"class-0", 80, 80, 40, 40, 0.95f}}));
}

TEST(UpstreamDecoders, DistantBoxesAreKept) {
  EXPECT_EQ(
      detect({planes({{100, 100, 30, 30, {0.9f}}, {240, 240, 30, 30, {0.88f}}})},
             "iou-threshold=0.3"),
      (std::vector<Od>{{"class-0", 85, 85, 30, 30, 0.9f}, {"class-0", 225, 225, 30, 30, 0.88f}}));
}

TEST(UpstreamDecoders, MaxDetectionsKeepsTheBest) {
  EXPECT_EQ(
      detect({planes({{300, 300, 30, 30, {0.75f}},
                      {100, 100, 30, 30, {0.95f}},
                      {200, 200, 30, 30, {0.85f}}})},
             "max-detections=2"),
      (std::vector<Od>{{"class-0", 85, 85, 30, 30, 0.95f}, {"class-0", 185, 185, 30, 30, 0.85f}}));
}

TEST(UpstreamDecoders, BoxWithoutAreaOrOutsideIsDropped) {
  EXPECT_EQ(
      detect({planes(
          {{120, 120, 0, 40, {0.95f}}, {1200, 120, 30, 30, {0.9f}}, {320, 200, 50, 60, {0.92f}}})}),
      (std::vector<Od>{{"class-0", 295, 170, 50, 60, 0.92f}}));
}

/// GStreamer's decoders drop boxes wider than the frame and write negative corners; boxdecode
/// clips.
TEST(UpstreamDecoders, DiffersAtTheBorderByClipping) {
  EXPECT_EQ(
      detect({planes({{320, 240, 900, 100, {0.9f}}, {0, 0, 60, 40, {0.8f}}})}),
      (std::vector<Od>{{"class-0", 0, 190, 640, 100, 0.9f}, {"class-0", 0, 0, 30, 20, 0.8f}}));
}

/// GStreamer's decoders are silent for every frame; boxdecode stops the stream, unless on-mismatch
/// is set; then the frame gets the empty meta that marks it as analysed.
TEST(UpstreamDecoders, DiffersWithoutTensorsByAnError) {
  Harness strict("boxdecode", kVga);
  EXPECT_FALSE(strict.run(empty_frame().release()));
  EXPECT_NE(strict.error().find("The frame has no tensors"), std::string::npos);
  Harness h("boxdecode on-mismatch=pass", kVga);
  const Buffer out = h.run(empty_frame().release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(ods(out).empty());
}

/// GStreamer's decoders skip a tensor that has only a box; boxdecode reports it.
TEST(UpstreamDecoders, DiffersWithTooFewFieldsByAnError) {
  for (const char* id : {"yolo-v8-out", "yolo-v8-segmentation-out-detections"}) {
    Harness h("boxdecode", kVga);
    EXPECT_FALSE(h.run(frame_of({planes({{120, 120, 40, 20, {}}}, id)}))) << id;
    EXPECT_NE(h.error().find("1x4x1"), std::string::npos) << id;
  }
}

/// GStreamer's decoders accept only float32, and one image with three dimensions.
TEST(UpstreamDecoders, DiffersInAcceptedTypesAndRanks) {
  const Tensor plain = planes({kPlain});
  const std::vector<double> wide(plain.values.begin(), plain.values.end());
  for (const Shape& shape : {Shape{1, 5, 1}, Shape{5, 1}}) {
    Buffer frame = empty_frame();
    add_tensor(frame.get(), "yolo-v8-out", DataType::kFloat64, shape,
               GST_TENSOR_DIM_ORDER_COL_MAJOR,
               test::data_buffer(wide.data(), wide.size() * sizeof(double)));
    Harness h("boxdecode", kVga);
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << shape.to_string() << h.error();
    EXPECT_EQ(ods(out), (std::vector<Od>{{"class-0", 270, 215, 100, 50, 0.9f}}));
  }
}

TEST(UpstreamDecoders, RefusesABatchAndDataThatIsTooShort) {
  Harness batch("boxdecode", kVga);
  Tensor two = planes({kPlain, kPlain});
  two.values.resize(20, 0.5f);
  two.shape = {2, 5, 2};
  EXPECT_FALSE(batch.run(frame_of({two})));
  const std::string error = batch.error();
  EXPECT_NE(error.find("a batch of 2 frames"), std::string::npos) << error;
  Harness cut("boxdecode", kVga);
  Tensor less = planes({kPlain});
  less.values.pop_back();
  EXPECT_FALSE(cut.run(frame_of({less})));
  EXPECT_NE(cut.error().find("yolo-v8-out"), std::string::npos);
}

TEST(UpstreamDecoders, PropertiesAreReadBack) {
  const test::TempDir dir;
  const std::string path = dir.write("names", "person\n");
  Harness h("boxdecode score-threshold=0.62 iou-threshold=0.33 max-detections=17 label-file=" +
            path);
  gfloat score = 0, iou = 0;
  guint most = 0;
  g_autofree gchar* file = nullptr;
  g_object_get(h.element(), "score-threshold", &score, "iou-threshold", &iou, "max-detections",
               &most, "label-file", &file, nullptr);
  EXPECT_FLOAT_EQ(score, 0.62f);
  EXPECT_FLOAT_EQ(iou, 0.33f);
  EXPECT_EQ(most, 17u);
  EXPECT_EQ(file, path);
}

TEST(UpstreamDecoders, AcceptsTheCapsOfItsTemplateAndPlainVideo) {
  Harness h("boxdecode", kVga);
  g_autoptr(GstPad) sink = gst_element_get_static_pad(h.element(), "sink");
  g_autoptr(GstCaps) of_template = gst_pad_get_pad_template_caps(sink);
  for (guint i = 0; i < gst_caps_get_size(of_template); ++i) {
    // From GStreamer 1.28 on there are batches of streams, too.
    if (!gst_structure_has_name(gst_caps_get_structure(of_template, i), "video/x-raw")) continue;
    GstCaps* one = gst_caps_copy_nth(of_template, i);
    gst_caps_set_features(one, 0, nullptr);
    gst_caps_set_simple(one, "width", G_TYPE_INT, 640, "height", G_TYPE_INT, 480, nullptr);
    g_autoptr(GstCaps) fixed = gst_caps_fixate(one);
    EXPECT_TRUE(gst_pad_query_accept_caps(sink, fixed)) << i;
  }
  g_autoptr(GstCaps) video = gst_caps_from_string(kVga);
  EXPECT_TRUE(gst_pad_query_accept_caps(sink, video));
  g_autoptr(GstCaps) audio = gst_caps_from_string("audio/x-raw,format=S16LE,rate=48000");
  EXPECT_FALSE(gst_pad_query_accept_caps(sink, audio));
}

TEST(UpstreamDecoders, NormalizedCoordinatesAreScaledToTheFrame) {
  EXPECT_EQ(detect({planes({{0.5f, 0.5f, 0.25f, 0.25f, {0.9f}}}, "yolo-v8-out-normalized")}),
            (std::vector<Od>{{"class-0", 240, 180, 160, 120, 0.9f}}));
}

TEST(UpstreamDecoders, NormalizedBoxesWithoutAreaOrOutsideAreDropped) {
  EXPECT_EQ(detect({planes({{0.5f, 0.5f, 0, 0.2f, {0.95f}},
                            {1.2f, 0.5f, 0.1f, 0.1f, {0.9f}},
                            {0.5f, 0.5f, 0.2f, 0.2f, {0.93f}}},
                           "yolo-v8-out-normalized")}),
            (std::vector<Od>{{"class-0", 256, 192, 128, 96, 0.93f}}));
}

TEST(UpstreamDecoders, DiffersAtTheBorderOfNormalizedFramesByClipping) {
  EXPECT_EQ(detect({planes({{0.5f, 0.5f, 1.5f, 0.1f, {0.92f}}}, "yolo-v8-out-normalized")}),
            (std::vector<Od>{{"class-0", 0, 216, 640, 48, 0.92f}}));
}

TEST(UpstreamDecoders, NormalizedBoxesSuppressEachOther) {
  EXPECT_EQ(
      detect({planes({{0.25f, 0.25f, 0.1f, 0.1f, {0.95f}}, {0.2625f, 0.2625f, 0.1f, 0.1f, {0.8f}}},
                     "yolo-v8-out-normalized")},
             "iou-threshold=0.3", "video/x-raw,format=RGBA,width=400,height=400"),
      (std::vector<Od>{{"class-0", 80, 80, 40, 40, 0.95f}}));
}

/// The decoder in C compares boxes of all classes, those in Rust only within a class.
TEST(UpstreamDecoders, ClassesSuppressEachOtherOnRequest) {
  const Tensor same = planes({{100, 100, 40, 40, {0.9f, 0}}, {100, 100, 40, 40, {0, 0.8f}}});
  EXPECT_EQ(detect({same}).size(), 2u);
  EXPECT_EQ(detect({same}, "class-agnostic=true").size(), 1u);
}

TEST(UpstreamDecoders, YoloxScoresAreProducts) {
  const auto found = detect({objectness_rows({{320, 240, 100, 50, {0.8f, 0.1f, 0.9f}}})},
                            "detector=yolox-decoded");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].label, "class-1");
  EXPECT_FLOAT_EQ(found[0].score, 0.8f * 0.9f);
  EXPECT_EQ(found[0].x, 270);
}

/// GStreamer's decoders require objectness and class score each above a threshold; boxdecode their
/// product, like the models' own code: 0.3 x 0.9 is dropped by the former.
TEST(UpstreamDecoders, DiffersInYoloxThresholds) {
  const auto tensor = objectness_rows({{320, 240, 100, 50, {0.3f, 0.9f}}});
  EXPECT_EQ(detect({tensor}, "detector=yolox-decoded score-threshold=0.25").size(), 1u);
  EXPECT_TRUE(detect({tensor}, "detector=yolox-decoded score-threshold=0.28").empty());
}

TEST(UpstreamDecoders, TheRightOneOfSeveralTensorsIsTaken) {
  const Tensor other{std::vector<float>(10, 7.0f), {1, 10}, "classification-generic-out"};
  const std::vector<Od> expected{{"class-0", 270, 215, 100, 50, 0.9f}};
  EXPECT_EQ(detect({other, planes({kPlain})}), expected);
  EXPECT_EQ(detect({planes({kPlain}), other}), expected);
  // In one meta, too.
  Buffer frame = empty_frame();
  const Tensor plain = planes({kPlain});
  const auto as_new = [](const Tensor& tensor) {
    return NewTensor{tensor.id, DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_COL_MAJOR,
                     test::data_buffer(tensor.values.data(), test::bytes_of(tensor))};
  };
  const NewTensor both[] = {as_new(other), as_new(plain)};
  add_tensors(frame.get(), both);
  Harness h("boxdecode", kVga);
  const Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out), expected);
}

/// GStreamer's decoders give no box without mask prototypes, which boxes do not need.
TEST(UpstreamDecoders, DiffersWithSegmentationByBoxesWithoutPrototypes) {
  const Tensor detections =
      planes({{2, 2, 2, 2, {0.95f, 2, -1}}}, "yolo-v8-segmentation-out-detections");
  const Tensor prototypes{
      std::vector<float>(32, 1.0f), {1, 2, 4, 4}, "yolo-v8-segmentation-out-protos"};
  const char* caps = "video/x-raw,format=RGBA,width=4,height=4";
  const std::vector<Od> expected{{"class-0", 1, 1, 2, 2, 0.95f}};
  const test::TempDir dir;
  const std::string family = "[detector]\nbase=yolov8-seg\nbox-units=pixels\n";
  const std::string line = "detector=" + dir.write("a.detector", family);
  EXPECT_EQ(detect({detections, prototypes}, line, caps), expected);
  EXPECT_EQ(detect({detections}, line + " num-classes=1", caps), expected);
}

}  // namespace
}  // namespace keepbox
