// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensor sources replace properties and guesses.
#include <functional>

#include "gst/tensors/provenance.h"
#include "tests/gst/decode/source.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::attach;
using test::boxes;
using test::Buffer;
using test::counted;
using test::empty_frame;
using test::Harness;
using test::kHd;
using test::kOne;
using test::plain_rows;
using test::rows_model;
using test::stat_text;
using test::Tensor;
using test::with_source;

TEST(Provenance, TravelsWithTheData) {
  const auto first = std::make_shared<const TensorProvenance>(rows_model());
  std::weak_ptr<const TensorProvenance> watch;
  {
    const Buffer data(gst_buffer_new());
    EXPECT_EQ(provenance_of(data.get()), nullptr);
    EXPECT_EQ(provenance_of(nullptr), nullptr);
    set_provenance(data.get(), first);
    const auto second = std::make_shared<const TensorProvenance>();
    watch = second;
    const Buffer copy(gst_buffer_copy(data.get()));
    set_provenance(copy.get(), second);
    EXPECT_EQ(provenance_of(data.get()), first);
    EXPECT_EQ(provenance_of(copy.get()), second);
    EXPECT_EQ(provenance_of(Buffer(gst_buffer_copy_deep(data.get())).get()), first);
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(first.use_count(), 1);
}

TEST(Provenance, ComparesAllFields) {
  using Change = std::function<void(TensorProvenance&)>;
  const TensorProvenance one = rows_model();
  EXPECT_EQ(one, rows_model());
  for (const Change& change : std::initializer_list<Change>{
           [](auto& s) { s.geometry.pad_y += 1; }, [](auto& s) { s.geometry.frame.width = 7; },
           [](auto& s) { s.model = "x"; }, [](auto& s) { s.detector = "x"; },
           [](auto& s) { s.units = Units::kAuto; }, [](auto& s) { s.labels.pop_back(); },
           [](auto& s) { s.held = true; }, [](auto& s) { s.producer = 1; },
           [](auto& s) { s.file = "x.onnx"; }, [](auto& s) { s.contract = "x"; },
           [](auto& s) { s.iou_threshold = 0.5f; }, [](auto& s) { s.labels_of["x"] = {"y"}; },
           [](auto& s) { s.objects = true; }, [](auto& s) { s.dynamic_rows = true; },
           [](auto& s) { s.lost_geometry = true; }}) {
    TensorProvenance other = one;
    change(other);
    EXPECT_FALSE(one == other);
  }
}

TEST(Provenance, ReplacesProperties) {
  Harness h("boxdecode include-classes=dog,bird", kHd);
  const Buffer out = h.run(
      with_source(rows_model(), {kOne[0], {0, 140, 30, 150, 0.8f, 0}, {0, 140, 30, 150, 0.7f, 3}}));
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{300, 300, 900, 600}));
  EXPECT_STREQ(g_quark_to_string(found[0].label), "dog");
  EXPECT_STREQ(g_quark_to_string(found[1].label), "bird");
  EXPECT_STREQ(g_quark_to_string(found[0].model), "rows");
  EXPECT_FALSE(found[0].unnamed);
  EXPECT_EQ(stat_text(h.element(), "detector"), "yolov10");
  EXPECT_NE(stat_text(h.element(), "recognized").find("declared by the model"), std::string::npos);
  EXPECT_EQ(h.warning(), "");
}

TEST(Provenance, AppliesToBlankFrames) {
  Harness h("boxdecode", kHd);
  TensorProvenance source = rows_model();
  source.units = Units::kAuto;
  for (const char* family : {"yolov10", "yolo26", "yolov10"}) {
    source.detector = family;
    ASSERT_TRUE(h.run(with_source(source, {{}, {}}))) << h.error();
    EXPECT_EQ(stat_text(h.element(), "detector"), family);
  }
}

TEST(Provenance, IsOverriddenByProperties) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "zero\none\n");
  Harness h("boxdecode model-name=mine label-file=" + labels + " detector=" +
                dir.write("a.detector", "[detector]\nbase=paddle\nbox-units=normalized\n"),
            kHd);
  // class, score, box
  const Buffer out = h.run(with_source(rows_model(), {{1, 0.9f, 0.25f, 0.25f, 0.5f, 0.5f}}));
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(g_quark_to_string(found[0].label), "one");
  EXPECT_STREQ(g_quark_to_string(found[0].model), "mine");
  // 160 to 320 in the input, minus 140 above: 480, 60 to 960, 540 in the frame.
  EXPECT_EQ(found[0].box, (Box{480, 60, 960, 540}));
}

TEST(Provenance, GeometryOverridesProperties) {
  Harness h("boxdecode resize-mode=stretch model-size=64x64", kHd);
  EXPECT_EQ(boxes(h.run(with_source(rows_model()))).at(0).box, (Box{300, 300, 900, 600}));
}

TEST(Provenance, WithoutGeometryUsesProperties) {
  Harness h("boxdecode model-size=640x640 resize-mode=letterbox-topleft", kHd);
  TensorProvenance source = rows_model();
  source.geometry = {};
  EXPECT_EQ(boxes(h.run(with_source(source))).at(0).box, (Box{300, 720, 900, 1020}));
}

TEST(Provenance, WithoutTheWayToTheFrameIsAnError) {
  // The frame was scaled by an element that dropped the metas which show how.
  TensorProvenance source = rows_model();
  source.producer = 7;
  EXPECT_EQ(boxes(Harness("boxdecode", kHd).run(with_source(source))).size(), 1u);
  Harness h("boxdecode", "video/x-raw,format=RGB,width=960,height=540");
  EXPECT_FALSE(h.run(with_source(source)));
  test::expect_words(h.error(), {"had 1920x1080 when the model ran", "960x540",
                                 "Put boxdecode directly after the inference element"});
}

TEST(Provenance, MayChangeWithEachFrame) {
  Harness h("boxdecode", kHd);
  TensorProvenance source = rows_model();
  EXPECT_EQ(boxes(h.run(with_source(source))).at(0).box, (Box{300, 300, 900, 600}));
  const guint64 frames = counted(h.element(), "frames");
  source.geometry = {{1920, 1080}, {640, 640}, 3, 3, 0, 0};  // top left
  EXPECT_EQ(boxes(h.run(with_source(source))).at(0).box, (Box{300, 720, 900, 1020}));
  source.geometry = {{960, 540}, {640, 640}, 1.5f, 1.5f, 0, 140};  // scaled up since
  EXPECT_EQ(boxes(h.run(with_source(source))).at(0).box, (Box{300, 300, 900, 600}));
  EXPECT_EQ(counted(h.element(), "frames"), frames + 2);
  source.geometry = {{1920, 1080}, {1280, 640}, 1.5f, 1.6875f, 0, 0};  // a different input
  source.units = Units::kNormalized;
  EXPECT_EQ(boxes(h.run(with_source(source, {{0.25f, 0.5f, 0.5f, 0.75f, 0.9f, 1}}))).at(0).box,
            (Box{480, 540, 960, 810}));
  source = rows_model();
  source.labels[1] = "wolf";
  const Buffer out = h.run(with_source(source));
  EXPECT_STREQ(g_quark_to_string(boxes(out).at(0).label), "wolf");
  h.set_caps("video/x-raw,format=RGB,width=960,height=540");
  EXPECT_EQ(boxes(h.run(with_source(source))).at(0).box, (Box{150, 150, 450, 300}));
  EXPECT_TRUE(h.run(test::frame_with(kOne))) << "and nobody says anything";
  EXPECT_EQ(h.warning() + h.error(), "");
}

TEST(Provenance, RejectedFrameLeavesNoState) {
  Harness h("boxdecode on-mismatch=pass", kHd);
  EXPECT_EQ(boxes(h.run(with_source(rows_model()))).size(), 1u);
  TensorProvenance other = rows_model();
  other.labels = {"a", "b"};
  EXPECT_EQ(boxes(h.run(with_source(other, {{100, 240, 300, 340, 7, 1}}))).size(), 0u)
      << "numbers deny it";
  const auto found = boxes(h.run(with_source(rows_model())));
  EXPECT_STREQ(g_quark_to_string(found.at(0).label), "dog");
}

TEST(Provenance, WarnsOfTheWrongNumberOfLabels) {
  Harness h("boxdecode", test::kSmall);
  TensorProvenance source;
  source.labels = {"one", "two"};
  GstBuffer* out = empty_frame().release();
  attach(out, test::crowd(1), std::make_shared<const TensorProvenance>(source));
  EXPECT_TRUE(h.run(out));
  const std::string warning = h.warning();
  EXPECT_NE(warning.find("2 labels in the model for 6 classes"), std::string::npos) << warning;
}

TEST(Provenance, RejectsNamesThatTheModelLacks) {
  Harness h("boxdecode include-classes=!wolf", kHd);
  EXPECT_FALSE(h.run(with_source(rows_model())));
  EXPECT_NE(h.error().find("wolf"), std::string::npos);
}

TEST(Provenance, TwoModelsKeepTheirOwn) {
  TensorProvenance second = rows_model();
  second.model = "second";
  second.geometry = {{1920, 1080}, {640, 640}, 3, 1.6875f, 0, 0};
  second.labels = {"x", "y"};
  for (const bool named : {false, true}) {
    for (const char* line :
         {"boxdecode ! boxdecode", "boxdecode tensor-ids=b ! boxdecode tensor-ids=a"}) {
      if (!named && std::string(line).contains("ids")) continue;
      SCOPED_TRACE(line);
      Harness h(line, kHd);
      for (int i = 0; i < 3; ++i) {
        GstBuffer* both = empty_frame().release();
        attach(both, plain_rows(kOne, named ? "a" : ""),
               std::make_shared<const TensorProvenance>(rows_model()));
        attach(both, plain_rows({}, named ? "more" : ""),
               std::make_shared<const TensorProvenance>(rows_model()));
        attach(both, plain_rows(kOne, named ? "b" : ""),
               std::make_shared<const TensorProvenance>(second));
        const Buffer out = h.run(both);
        ASSERT_TRUE(out) << h.error();
        for (const FrameBox& box : boxes(out)) {
          const bool first = std::string_view(g_quark_to_string(box.model)) == "rows";
          EXPECT_STREQ(g_quark_to_string(box.label), first ? "dog" : "y");
          EXPECT_EQ(box.box, first ? (Box{300, 300, 900, 600}) : (Box{300, 405, 900, 573.75f}));
        }
        EXPECT_EQ(boxes(out).size(), 2u);
      }
      EXPECT_EQ(h.warning(), "");
    }
  }
}

TEST(Provenance, SkipsModelsOfOtherDecoders) {
  TensorProvenance second = rows_model();
  second.detector = "yolov8";
  Harness h("boxdecode detector=yolov8 ! boxdecode", kHd);
  GstBuffer* both = empty_frame().release();
  Tensor planes = test::crowd(2);
  planes.id.clear();
  second.geometry = {{1920, 1080}, {320, 320}, 6, 3.375f, 0, 0};
  second.labels = {};
  attach(both, plain_rows(kOne), std::make_shared<const TensorProvenance>(rows_model()));
  attach(both, planes, std::make_shared<const TensorProvenance>(second));
  const Buffer out = h.run(both);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).back().box, (Box{300, 300, 900, 600})) << "the second decoder's";
  EXPECT_GT(boxes(out).size(), 10u);
}

TEST(Families, DetrAcceptsIntegers) {
  Harness h("boxdecode", kHd);
  GstBuffer* out = empty_frame().release();
  const float corners[] = {10, 20, 30, 40, 100, 100, 200, 300}, scores[] = {0.5f, 0.9f};
  const gint64 labels[] = {3, 17};
  const auto add = [&](const char* id, DataType type, const Shape& shape, const void* data,
                       gsize bytes) {
    add_tensor(out, id, type, shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
               test::data_buffer(data, bytes));
  };
  add("labels", DataType::kInt64, {1, 2}, labels, sizeof labels);
  add("boxes", DataType::kFloat32, {1, 2, 4}, corners, sizeof corners);
  add("scores", DataType::kFloat32, {1, 2}, scores, sizeof scores);
  const auto found = boxes(h.run(out));
  ASSERT_EQ(found.size(), 2u) << h.error();
  EXPECT_EQ(found[0].box, (Box{100, 100, 200, 300}));
  EXPECT_EQ(found[0].class_id, 17u);
  EXPECT_EQ(found[1].class_id, 3u);
}

TEST(Families, PaddleAcceptsAnyNumberOfRows) {
  Harness h("boxdecode", kHd);
  TensorProvenance source = rows_model();
  source.detector = "paddle";
  source.labels.resize(80, "thing");
  for (const size_t count : {2, 0, 0, 7, 1, 0, 3}) {
    Tensor rows{.shape = {count, 6}, .id = "paddle-rows"};
    for (size_t i = 0; i < count; ++i)
      rows.values.insert(rows.values.end(), {float(i), 0.9f, 10, 140, 20, 150});
    GstBuffer* out = empty_frame().release();
    attach(out, rows, std::make_shared<const TensorProvenance>(source));
    const Buffer done = h.run(out);
    ASSERT_TRUE(done) << h.error();
    EXPECT_EQ(boxes(done).size(), count);
  }
  EXPECT_EQ(counted(h.element(), "mismatches"), 0u);
  EXPECT_EQ(h.warning(), "");
}

}  // namespace
}  // namespace keepbox
