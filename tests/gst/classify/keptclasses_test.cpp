// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes that tracked objects keep, and properties that change during a stream.
#include <filesystem>

#include "tests/gst/classify/coloured.h"

namespace keepbox::keptclasses_test {
namespace {

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

/// The model runs once on each tracked object.
constexpr const char* kOnce = "regions=objects reinfer=0 channel-order=rgb";
constexpr const char* kDecode = " ! classdecode name=decode";

struct UnrefElement {
  void operator()(GstElement* element) const { gst_object_unref(element); }
};

/// Returns the decoder of a line.
std::unique_ptr<GstElement, UnrefElement> named(Harness& h) {
  return std::unique_ptr<GstElement, UnrefElement>(gst_bin_get_by_name(h.bin(), "decode"));
}

TEST_F(ClassDecode, KeepsResultsOfTrackedObjects) {
  Harness h(infer(colour_model(), kOnce) + kDecode, kScene);
  EXPECT_EQ(results(h.run(frame({1, 2, 3}))), "class=green | class=blue | class=red | ");
  // The model runs on no object again; the objects have changed places.
  EXPECT_EQ(results(h.run(frame({3, 1, 2}))), "class=red | class=green | class=blue | ");
  EXPECT_EQ(results(h.run(frame({4, 1, 2}))), "class=green | class=green | class=blue | ");
  const auto decoder = named(h);
  EXPECT_EQ(test::counted(decoder.get(), "images"), 4u);
  EXPECT_EQ(test::counted(decoder.get(), "results"), 4u);
  EXPECT_EQ(test::counted(decoder.get(), "kept-results"), 5u);
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

TEST_F(ClassDecode, TakesPropertiesDuringAStream) {
  Harness h(infer(colour_model(), kOnce) + kDecode, kScene);
  EXPECT_EQ(results(h.run(frame({1, 2, 3}))), "class=green | class=blue | class=red | ");
  const auto decoder = named(h);
  g_object_set(decoder.get(), "attribute", "paint", nullptr);
  EXPECT_EQ(results(h.run(frame({4, 2, 3}))), "paint=green | paint=blue | paint=red | ");
  gst_harness_push_event(h.get(), gst_event_new_stream_start("next"));
  EXPECT_EQ(results(h.run(frame({4, 2, 5}))), "| | paint=red | ");
}

/// The model does not run on the objects again.
TEST_F(ClassDecode, KeepsResultsWhenPropertiesChange) {
  const std::string wanted = "class=green | class=blue | class=red | ";
  for (const auto& [name, value] : {std::pair("top-k", "2"),
                                    {"score-threshold", "0.1"},
                                    {"activation", "softmax"},
                                    {"keep-results", "best"},
                                    {"model-name", "colours"}}) {
    Harness h(infer(colour_model(), kOnce) + kDecode, kScene);
    EXPECT_EQ(results(h.run(frame({1, 2, 3}))), wanted);
    gst_util_set_object_arg(G_OBJECT(named(h).get()), name, value);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(results(h.run(frame({1, 2, 3}))), wanted) << name;
  }
}

TEST_F(ClassDecode, KeepsItsLabelsIfOthersCannotBeRead) {
  const std::string labels = dir_.write("names", "rot\nblau\ngruen\n");
  Harness h(infer(colour_model(), kOnce) + kDecode + " label-file=" + labels, kScene);
  EXPECT_EQ(results(h.run(frame({1, 2, 3}))), "class=blau | class=gruen | class=rot | ");
  const auto decoder = named(h);
  std::filesystem::remove(labels);
  g_object_set(decoder.get(), "label-file", "/none", nullptr);
  g_autofree gchar* shown = nullptr;
  g_object_get(decoder.get(), "label-file", &shown, nullptr);
  EXPECT_EQ(shown, labels) << "at once";
  test::expect_words(h.warning(), {"/none", "label-file stays", labels.c_str()});
  EXPECT_EQ(results(h.run(frame({4, 5, 6}))), "class=blau | class=gruen | class=rot | ")
      << h.error();
  EXPECT_EQ(h.warning(), "") << "once";
  // Objects keep the name that they were given.
  g_object_set(decoder.get(), "label-file", dir_.write("more", "r\nb\ng\n").c_str(), nullptr);
  EXPECT_EQ(results(h.run(frame({4, 7, 6}))), "class=blau | class=g | class=rot | ");
}

TEST_F(ClassDecode, StaysStoppedAfterAnError) {
  Harness h("classdecode", kScene);
  for (int i = 0; i < 2; ++i) {
    GstBuffer* in = painted(kScene, test::grey);
    test::attach(in, {.values = {1, 2, 3, 4}, .shape = {4}, .id = "scores"});
    EXPECT_FALSE(h.run(in));
    EXPECT_EQ(h.flow, GST_FLOW_ERROR) << i;
  }
  test::expect_words(h.error(), {"scores"});
  EXPECT_EQ(h.error(), "");
}

}  // namespace
}  // namespace keepbox::keptclasses_test
