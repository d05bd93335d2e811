// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes and text of whole frames, in all metas and by boxsink.
#include "gst/metas/labels.h"

#include <nlohmann/json.hpp>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::framelabels_test {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;

constexpr const char* kScene = "video/x-raw,format=RGB,width=32,height=24,framerate=30/1";

/// Returns a frame with scores of two classes, and three steps of a text of A, B or blank, in
/// which the letters B and A are read.
GstBuffer* scored() {
  GstBuffer* out = painted(kScene, test::grey);
  const auto add = [&](const char* id, const Shape& shape, std::vector<float> values) {
    add_tensor(out, id, DataType::kFloat32, shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
               test::data_buffer(values.data(), values.size() * sizeof(float)));
  };
  add("weather", {1, 2}, {0.25f, 0.75f});
  add("sign", {1, 3, 3}, {0.25f, 0, 0.75f, 1, 0, 0, 0, 1, 0});
  return out;
}

/// Returns "attribute=text@level of model" of all results about a frame.
std::string text_of(GstBuffer* frame) {
  std::string out;
  for (const BoxLabel& label : read_frame_labels(frame)) {
    const gchar* attribute = g_quark_to_string(label.attribute);
    const gchar* model = g_quark_to_string(label.model);
    out += std::string(attribute != nullptr ? attribute : "?") + '=' + std::string(label.text) +
           '@' + std::to_string(label.level).substr(0, 4) + " of " +
           (model != nullptr ? model : "?") + "; ";
  }
  return out;
}

class FrameLabels : public testing::Test {
 protected:
  test::TempDir dir_;
  const std::string classify_ =
      "classdecode model-name=eyes label-file=" + dir_.write("letters.txt", "A\nB\n");
};

constexpr const char* kBoth = "weather=B@0.75 of eyes; sign=BA@0.87 of eyes; ";

/// Steps x characters without a batch are one text, not a picture for each step.
TEST_F(FrameLabels, AreTextOfStepsWithoutABatch) {
  const std::vector<float> steps{.1f, .8f, .1f, .9f, .05f, .05f, .1f, .1f, .8f, .9f, .1f, 0};
  const auto frame = [&](const Shape& shape = {4, 3}) {
    GstBuffer* out = painted(kScene, test::grey);
    add_tensor(out, "steps", DataType::kFloat32, shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
               test::data_buffer(steps.data(), steps.size() * sizeof(float)));
    return out;
  };
  const auto error_with = [&](const std::string& properties, const Shape& shape = {4, 3}) {
    Harness h("classdecode " + properties, kScene);
    EXPECT_FALSE(h.run(frame(shape)));
    return h.error();
  };
  Harness h(classify_, kScene);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), "text=AB@0.80 of eyes; ");
  test::expect_words(error_with(""), {"2 characters", "label-file=", "3 is the number of steps"});
  Harness classes("classdecode label-file=" + dir_.write("classes.txt", "A\nB\nC\n"), kScene);
  EXPECT_EQ(text_of(classes.run(frame()).get()).substr(0, 12), "class=A@0.90") << "of images";
  test::expect_words(error_with("label-file=" + dir_.write("five.txt", "A\nB\nC\nD\nE\n"), {6, 2}),
                     {"the characters before the steps", "dimensions exchanged"});
}

TEST_F(FrameLabels, AreClassesAndText) {
  Harness h(classify_, kScene);
  const Buffer out = h.run(scored());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), kBoth);
}

/// Scores that add up to 1 are probabilities unless a function is set.
TEST_F(FrameLabels, AreOfTheFunctionThatIsSet) {
  Harness h(classify_ + " activation=softmax", kScene);
  const Buffer out = h.run(scored());
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(text_of(out.get()).starts_with("weather=B@0.62 of eyes; ")) << text_of(out.get());
}

TEST_F(FrameLabels, AreCountedAsResults) {
  Harness h(classify_, kScene);
  const Buffer out = h.run(scored());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(test::counted(h.element(), "results"), 2u);
}

TEST_F(FrameLabels, AreNotThoseOfObjects) {
  Harness h(classify_, kScene);
  GstBuffer* in = scored();
  FrameBox box[] = {{.box = {1, 2, 11, 12}, .class_id = 1, .anchor = 2}};
  ASSERT_TRUE(attach_boxes(in, box, {.classes = true}));
  const Buffer out = h.run(in);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), kBoth);
  EXPECT_EQ(test::boxes(out)[0].labels.size(), 0u);
}

/// Blank steps have no text, and scores below the threshold no class.
TEST_F(FrameLabels, AreNotThereWithoutResults) {
  Harness h(classify_ + " score-threshold=0.9", kScene);
  const Buffer out = h.run(scored());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), "");
  EXPECT_EQ(test::counted(h.element(), "results"), 0u);
}

TEST_F(FrameLabels, AreReadFromOtherElements) {
  const Buffer frame = test::empty_frame();
  EXPECT_EQ(text_of(frame.get()), "");
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsClsMtd cls;
  gst_analytics_relation_meta_add_one_cls_mtd(meta, 0.5f, g_quark_from_string("street"), &cls);
  gst_analytics_relation_meta_add_one_cls_mtd(meta, 0.25f, g_quark_from_string("street"), &cls);
  EXPECT_EQ(text_of(frame.get()), "?=street@0.50 of ?; ");
}

/// The best of several images of a frame counts.
TEST_F(FrameLabels, AreTheBestOfTiles) {
  GstBuffer* in = painted(kScene, test::grey);
  const std::vector<float> values{0.25f, 0.75f, 0.875f, 0.125f, 0.5f, 0.5f};
  add_tensor(in, "", DataType::kFloat32, {3, 2}, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             test::data_buffer(values.data(), values.size() * sizeof(float)));
  Harness h(classify_, kScene);
  const Buffer out = h.run(in);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), "class=A@0.87 of eyes; ");
}

TEST_F(FrameLabels, FollowTheirFrame) {
  Harness h(
      "framesave ! videoscale ! video/x-raw,width=16,height=12 ! identity name=put "
      "signal-handoffs=true ! " +
          classify_ + " ! framerestore",
      kScene);
  g_autoptr(GstElement) put = gst_bin_get_by_name(h.bin(), "put");
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    const Buffer from(scored());
    carry_tensors(from.get(), buffer, [](const auto& source) { return source; });
  };
  g_signal_connect(put, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(painted(kScene, test::grey));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(text_of(out.get()), kBoth);
}

/// The object that gvametaconvert makes of the frame: without a detection.
TEST_F(FrameLabels, AreAnObjectOfJsonLines) {
  for (const bool with_box : {true, false}) {
    const std::string path = dir_ / "out.jsonl";
    {
      Harness h(classify_ + " ! boxsink write-empty=false location=" + path, kScene);
      GstBuffer* in = scored();
      FrameBox box[] = {{.box = {1, 2, 11, 12}, .class_id = 1, .anchor = 2}};
      if (with_box) {
        ASSERT_TRUE(attach_boxes(in, box, {}));
      }
      h.run(in);
      gst_harness_push_event(h.get(), gst_event_new_eos());
      EXPECT_EQ(h.error(), "");
    }
    std::ifstream file(path);
    const auto objects = nlohmann::json::parse(file)["objects"];
    ASSERT_EQ(objects.size(), with_box ? 2u : 1u);
    const auto want = nlohmann::json::parse(R"({"x":0,"y":0,"w":32,"h":24,
      "weather":{"label":"B","label_id":1,"confidence":0.75,"model":{"name":"eyes"}},
      "sign":{"label":"BA","confidence":0.875,"model":{"name":"eyes"}}})");
    EXPECT_EQ(objects.back(), want);
  }
}

}  // namespace
}  // namespace keepbox::framelabels_test
