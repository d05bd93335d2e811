// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes and text of objects and frames, from models whose results are colours.
#include "gst/metas/attachboxes.h"
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;
using test::raw;
using test::Rect;

constexpr int kWidth = 160, kHeight = 120;
const std::string kScene = raw("RGB", kWidth, kHeight);

/// Returns a model whose scores are the means of R, G and B, of 16 x 8 pixels in 0..1.
test::onnx::Model colour_model(const std::string& output = "output0") {
  test::onnx::Model out;
  out.inputs = {{"images", test::onnx::Type::kFloat, {"N", 3, 8, 16}}};
  out.outputs = {{output, test::onnx::Type::kFloat, {"N", 3, 1, 1}}};
  out.add("GlobalAveragePool", {"images"}, {}, output);
  out.metadata["names"] = "{0: 'red', 1: 'green', 2: 'blue'}";
  return out;
}

/// Returns a model that reads green columns as A and blue ones as B; red ones are blank.
test::onnx::Model stripe_model() {
  test::onnx::Model out;
  out.inputs = {{"images", test::onnx::Type::kFloat, {"N", 3, 8, 16}}};
  out.outputs = {{"steps", test::onnx::Type::kFloat, {"N", 16, 3}}};
  const std::string means =
      out.add("ReduceMean", {"images"},
              {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{0}}}, "means");
  out.add("Transpose", {means}, {{"perm", std::vector<int64_t>{0, 2, 1}}}, "steps");
  out.metadata["character"] = "A\nB";
  return out;
}

/// Paints red with a green and a blue rectangle.
test::Paint coloured(Rect green, Rect blue) {
  return [=](int x, int y) -> test::Pixel {
    if (green.has(x, y)) return {0, 255, 0};
    return blue.has(x, y) ? test::Pixel{0, 0, 255} : test::Pixel{255, 0, 0};
  };
}

FrameBox object(Box box) {
  return {
      .box = box, .score = 0.5f, .label = g_quark_from_string("car"), .class_id = 0, .anchor = 0};
}

/// Returns "attribute=text" of all boxes, one after the other.
std::string results(const Buffer& out) {
  std::string text;
  std::vector<FrameBox> found;
  read_boxes(out.get(), found, nullptr, {kWidth, kHeight});
  for (const FrameBox& box : found) {
    for (const BoxLabel& label : box.labels) {
      const gchar* attribute = g_quark_to_string(label.attribute);
      text +=
          std::string(attribute != nullptr ? attribute : "?") + "=" + std::string(label.text) + " ";
    }
    text += "| ";
  }
  return text;
}

class ClassDecode : public test::Inference {
 protected:
  std::string line(const test::onnx::Model& model, const std::string& more = "",
                   const std::string& of_infer = "regions=objects") {
    return infer(model, of_infer + " channel-order=rgb resize-mode=stretch") + " ! classdecode " +
           more;
  }

  /// Returns a frame with a green, a blue and a red object.
  static GstBuffer* frame(const std::vector<guint64>& ids = {}) {
    GstBuffer* out = painted(kScene, coloured({0, 0, 40, 40}, {60, 0, 100, 40}));
    put_objects(out, ids);
    return out;
  }
  static void put_objects(GstBuffer* out, const std::vector<guint64>& ids) {
    std::vector<FrameBox> boxes{object({5, 5, 35, 35}), object({65, 5, 95, 35}),
                                object({5, 65, 35, 95})};
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    auto* meta = gst_buffer_get_analytics_relation_meta(out);
    for (size_t i = 0; i < ids.size(); ++i) {
      GstAnalyticsTrackingMtd mtd;
      gst_analytics_relation_meta_add_tracking_mtd(meta, ids[i], 0, &mtd);
      gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               boxes[i].od_id, mtd.id);
    }
  }
};

TEST_F(ClassDecode, NamesTheClassesOfObjects) {
  Harness h(line(colour_model()), kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out), "class=green | class=blue | class=red | ");
  EXPECT_EQ(h.warning(), "");
}

/// GStreamer's own metas have the same, for applications without keepbox.
TEST_F(ClassDecode, WritesClassificationMetas) {
  Harness h(line(colour_model(), "top-k=2"), kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  std::vector<FrameBox> found;
  read_boxes(out.get(), found);
  ASSERT_EQ(found.size(), 3u);
  GstAnalyticsMtd mtd;
  gpointer state = nullptr;
  ASSERT_TRUE(gst_analytics_relation_meta_get_direct_related(
      meta, found[1].od_id, GST_ANALYTICS_REL_TYPE_CONTAIN, gst_analytics_cls_mtd_get_mtd_type(),
      &state, &mtd));
  auto* cls = reinterpret_cast<GstAnalyticsClsMtd*>(&mtd);
  ASSERT_EQ(gst_analytics_cls_mtd_get_length(cls), 2u);
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(cls, 0), g_quark_from_string("blue"));
  EXPECT_GT(gst_analytics_cls_mtd_get_level(cls, 0), gst_analytics_cls_mtd_get_level(cls, 1));
}

TEST_F(ClassDecode, ReadsTextOfObjects) {
  Harness h(line(stripe_model()), kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out), "text=A | text=B | | ");
  GstBuffer* wide = painted(kScene, coloured({10, 0, 20, 40}, {40, 0, 50, 40}));
  std::vector<FrameBox> box{object({0, 0, 80, 40})};
  ASSERT_TRUE(attach_boxes(wide, box, {.frame = {kWidth, kHeight}}));
  EXPECT_EQ(results(h.run(wide)), "text=AB | ");
}

TEST_F(ClassDecode, TakesSeveralAttributesOfOneModel) {
  test::onnx::Model model = colour_model("colour");
  model.outputs.push_back({"kind", test::onnx::Type::kFloat, {"N", 3, 1, 1}});
  model.add("Neg", {"colour"}, {}, "kind");
  model.metadata = {{"names.colour", "['red', 'green', 'blue']"},
                    {"names.kind", "['not red', 'not green', 'not blue']"}};
  Harness h(line(model), kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out).substr(0, 30), "colour=green kind=not red | co");
}

TEST_F(ClassDecode, ClassifiesFrames) {
  Harness h(line(colour_model(), "", ""), kScene);
  const Buffer out = h.run(painted(kScene, coloured({}, {})));
  ASSERT_TRUE(out) << h.error();
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  ASSERT_NE(meta, nullptr);
  GstAnalyticsClsMtd cls;
  ASSERT_TRUE(gst_analytics_relation_meta_get_cls_mtd(meta, 0, &cls));
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&cls, 0), g_quark_from_string("red"));
  EXPECT_NEAR(gst_analytics_cls_mtd_get_level(&cls, 0), 1, 1e-3);  // 1, 0, 0 adds up to 1
}

TEST_F(ClassDecode, TakesUltralyticsClassifiersWithoutAWarning) {
  test::onnx::Model model = colour_model("colours");
  model.outputs = {{"output0", test::onnx::Type::kFloat, {"N", 3}}};
  model.add("Flatten", {"colours"}, {}, "output0");
  model.metadata.insert({{"task", "classify"}, {"stride", "1"}});
  Harness h(infer(model) + " ! classdecode", kScene);
  ASSERT_TRUE(h.run(painted(kScene, test::grey))) << h.error();
  EXPECT_EQ(h.warning(), "");
  Harness boxes(infer(model) + " ! boxdecode", kScene);
  EXPECT_FALSE(boxes.run(painted(kScene, test::grey)));
  test::expect_words(boxes.error(), {"a classifier with 3 classes"});
}

/// Tensors of another element than tensorinfer are of the frame.
TEST_F(ClassDecode, ClassifiesFramesOfOtherProducers) {
  Harness h("classdecode", kScene);
  GstBuffer* in = painted(kScene, test::grey);
  const std::vector<float> values{0.1f, 0.7f, 0.2f};
  add_tensor(in, "scores", DataType::kFloat32, {1, 3}, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             test::data_buffer(values.data(), values.size() * sizeof(float)));
  const Buffer out = h.run(in);
  ASSERT_TRUE(out) << h.error();
  GstAnalyticsClsMtd cls;
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  ASSERT_TRUE(meta != nullptr && gst_analytics_relation_meta_get_cls_mtd(meta, 0, &cls));
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&cls, 0), g_quark_from_string("class-1"));
}

/// The blank line of a dictionary is a space.
TEST_F(ClassDecode, ReadsDictionariesWithASpace) {
  test::onnx::Model model = stripe_model();
  model.metadata["character"] = " \nB\n";
  Harness h(line(model), kScene);
  EXPECT_EQ(results(h.run(frame())), "text=  | text=B | | ");
  const std::string file = dir_.write("letters.txt", "A\r\n \r\n");
  Harness given(line(model, "label-file=" + file), kScene);
  EXPECT_EQ(results(given.run(frame())), "text=A | text=  | | ");
}

TEST_F(ClassDecode, NamesAttributesByTheirOutputsToo) {
  test::onnx::Model model = colour_model("colour");
  model.outputs.push_back({"kind", test::onnx::Type::kFloat, {"N", 3, 1, 1}});
  model.outputs.push_back({"map", test::onnx::Type::kFloat, {"N", 3, 8, 16}});
  model.add("Neg", {"colour"}, {}, "kind");
  model.add("Identity", {"images"}, {}, "map");
  Harness h(line(model, "attribute=car"), kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out).substr(0, 40), "car.colour=class-1 car.kind=class-0 | ca");
  EXPECT_NE(h.warning().find("map"), std::string::npos);  // is left out
}

TEST_F(ClassDecode, KeepsResultsOfTrackedObjects) {
  Harness h(
      infer(colour_model(), "regions=objects again-every=0 channel-order=rgb") + " ! classdecode",
      kScene);
  EXPECT_EQ(results(h.run(frame({1, 2, 3}))), "class=green | class=blue | class=red | ");
  // The model runs on no object again; the objects have changed places.
  EXPECT_EQ(results(h.run(frame({3, 1, 2}))), "class=red | class=green | class=blue | ");
  EXPECT_EQ(results(h.run(frame({4, 1, 2}))), "class=green | class=green | class=blue | ");
}

TEST_F(ClassDecode, KeepsTheBestResult) {
  Harness last(line(colour_model(), "keep-results=last"), kScene);
  Harness best(line(colour_model(), "keep-results=best"), kScene);
  Harness none(line(colour_model(), "keep-results=none score-threshold=0.5"), kScene);
  const auto half = [] {  // half green, half blue, and a little more green
    GstBuffer* out = painted(kScene, coloured({0, 0, 22, 40}, {22, 0, 40, 40}));
    std::vector<FrameBox> boxes{object({5, 5, 35, 35})};
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    auto* meta = gst_buffer_get_analytics_relation_meta(out);
    GstAnalyticsTrackingMtd mtd;
    gst_analytics_relation_meta_add_tracking_mtd(meta, 2, 0, &mtd);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, boxes[0].od_id,
                                             mtd.id);
    return out;
  };
  for (Harness* h : {&last, &best, &none}) h->run(frame({1, 2, 3}));  // object 2 is blue
  EXPECT_EQ(results(last.run(half())), "class=green | ");
  EXPECT_EQ(results(best.run(half())), "class=blue | ");
  EXPECT_EQ(results(none.run(frame({1, 2, 3}))), "class=green | class=blue | class=red | ");
}

TEST_F(ClassDecode, GoesWithItsObjects) {
  Harness h("framesave ! identity name=put signal-handoffs=true ! " + line(colour_model()) +
                " ! framerestore",
            kScene);
  g_autoptr(GstElement) put = gst_bin_get_by_name(h.bin(), "put");
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) { put_objects(buffer, {}); };
  g_signal_connect(put, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(painted(kScene, coloured({0, 0, 40, 40}, {60, 0, 100, 40})));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out), "class=green | class=blue | class=red | ");
}

TEST_F(ClassDecode, RefusesTensorsOfDetectors) {
  Harness h(infer(test::ultralytics_like({64, 64})) + " ! classdecode", kScene);
  EXPECT_FALSE(h.run(painted(kScene, test::grey)));
  EXPECT_NE(h.error().find("boxdecode"), std::string::npos);
}

TEST_F(ClassDecode, IsNamedByADetectorsDecoder) {
  Harness h(infer(colour_model(), "regions=objects") + " ! boxdecode", kScene);
  EXPECT_FALSE(h.run(frame()));
  EXPECT_NE(h.error().find("classdecode"), std::string::npos);
}

TEST_F(ClassDecode, NeedsADictionaryForText) {
  test::onnx::Model model = stripe_model();
  model.metadata.clear();
  Harness h(line(model), kScene);
  EXPECT_FALSE(h.run(frame()));
  EXPECT_NE(h.error().find("label-file="), std::string::npos);
  const std::string file = dir_.write("letters.txt", "A\nB\n");
  Harness with(line(model, "label-file=" + file), kScene);
  EXPECT_EQ(results(with.run(frame())), "text=A | text=B | | ");
}

TEST_F(ClassDecode, WarnsWithoutTensors) {
  Harness h("classdecode", kScene);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.run(painted(kScene, test::grey)));
  EXPECT_NE(h.warning().find("tensorinfer"), std::string::npos);
  EXPECT_EQ(h.warning(), "");
}

/// The nearest model is decoded first.
TEST_F(ClassDecode, LeavesOtherModelsTensorsAlone) {
  const std::string both = infer(colour_model(), "regions=objects") + " name=a ! tensorinfer " +
                           "regions=objects model-file=" + file(stripe_model(), "text.onnx") +
                           " channel-order=rgb ! classdecode ! classdecode";
  Harness h(both, kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(results(out), "text=A class=green | text=B class=blue | class=red | ");
}

}  // namespace
}  // namespace keepbox
