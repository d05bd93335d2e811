// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes and text of objects and frames, from models whose results are colours.
#include "tests/gst/classify/coloured.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::ClassDecode;
using test::colour_model;
using test::coloured;
using test::Harness;
using test::kHeight;
using test::kScene;
using test::kWidth;
using test::object;
using test::painted;
using test::results;
using test::stripe_model;

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
