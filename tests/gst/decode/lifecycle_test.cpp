// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode in its pipeline: policies, changed properties, queries, the end of a stream.

#include <glib/gstdio.h>

#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::frame_with;
using test::Harness;

const std::vector<test::Row> kTwoRows = {{100, 100, 200, 200, 0.9f, 0},
                                         {300, 300, 400, 400, 0.4f, 1}};

/// Returns the error of an element that does not start, or "".
std::string start_error(const std::string& line) {
  GstElement* element = gst_parse_launch(line.c_str(), nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  gst_element_set_state(element, GST_STATE_PAUSED);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  std::string out;
  if (message != nullptr) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    out = error->message;
    gst_message_unref(message);
  }
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return out;
}

TEST(OnMismatchPolicy, AppliesToTensorsNotProperties) {
  for (const char* policy : {"pass", "warn"}) {
    const std::string line = std::string("boxdecode on-mismatch=") + policy;
    {
      Harness h(line);
      EXPECT_TRUE(h.run(gst_buffer_new())) << "no tensors";
    }
    Harness names(line + " include-classes=dgo");  // the names could have come with the tensors
    EXPECT_FALSE(names.run(frame_with(kTwoRows)));
    EXPECT_NE(names.error().find("dgo"), std::string::npos);
    for (const char* wrong :
         {"class-thresholds=dog", "label-file=/none", "detector=/none.detector"}) {
      EXPECT_NE(start_error(line + " " + wrong), "") << policy << wrong;
    }
  }
}

TEST(Start, SuggestsTheFamilyThatWasMeant) {
  test::expect_words(start_error("boxdecode detector=yolov88"),
                     {"detector=yolov88 is unknown", "Did you mean yolov8? Set it to auto"});
  test::expect_words(start_error("boxdecode detector=something"),
                     {"detector=something is unknown. Set it to auto"});
}

TEST(Start, SucceedsAfterAFailedOne) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "person\n");
  GstElement* element = gst_element_factory_make("boxdecode", nullptr);
  g_object_set(element, "label-file", labels.c_str(), "include-classes", "dog", nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  dir.write("l", "dog\n");
  EXPECT_NE(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

TEST(OnMismatchPolicy, WarnsOncePerKind) {
  Harness h("boxdecode on-mismatch=warn");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(h.run(gst_buffer_new()));
    EXPECT_TRUE(h.run(frame_with(kTwoRows)));
    GstBuffer* other = gst_buffer_new();
    test::attach(other, {{1, 2, 3}, {3}, "of no detector"});
    EXPECT_TRUE(h.run(other));
  }
  EXPECT_NE(h.warning(), "");
  EXPECT_NE(h.warning(), "");
  EXPECT_EQ(h.warning(), "");
}

/// Makes two SSD anchors at the priors: logits of a background and two classes.
GstBuffer* ssd_frame() {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, {std::vector<float>(8, 0.0f), {1, 2, 4}, "b"});
  test::attach(frame, {{-5, 3, -5, -5, -5, 0}, {1, 2, 3}, "s"});
  return frame;
}

TEST(PropertyChanges, TakesThresholdsWithoutANewPlan) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "none\ncat\ndog\n");
  const std::string priors = dir.write("p", ".2 .2 .1 .1\n.7 .7 .1 .1\n");
  const std::string family = dir.write("ssd.detector", "[detector]\nbase=ssd\npriors-file=p\n");
  Harness h("boxdecode detector=" + family + " tensor-ids=b,s label-file=" + labels);
  EXPECT_EQ(boxes(h.run(ssd_frame())).size(), 2u) << h.error();
  // The plan's files are gone; thresholds and classes still change.
  ASSERT_EQ(g_remove(labels.c_str()), 0);
  ASSERT_EQ(g_remove(priors.c_str()), 0);
  h.set("score-threshold", 0.6f);
  EXPECT_EQ(boxes(h.run(ssd_frame())).size(), 1u) << h.error();
  h.set("class-thresholds", "dog:0.3");
  EXPECT_EQ(boxes(h.run(ssd_frame())).size(), 2u);
  h.set("include-classes", "!cat");
  const auto found = boxes(h.run(ssd_frame()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(g_quark_to_string(found[0].label), "dog");
  h.set("include-classes", "", "score-threshold", 0.25f, "iou-threshold", 0.3f);
  EXPECT_EQ(boxes(h.run(ssd_frame())).size(), 2u);
  EXPECT_EQ(h.error(), "");
}

TEST(PropertyChanges, SuppressesByTheNewThreshold) {
  const std::vector<test::Row> twins = {{100, 100, 200, 200, 0.9f, 0},
                                        {140, 100, 240, 200, 0.8f, 0}};
  Harness h("boxdecode nms-method=greedy iou-threshold=0.5");
  EXPECT_EQ(boxes(h.run(frame_with(twins))).size(), 2u) << "an IoU of 0.43";
  h.set("iou-threshold", 0.4f);
  EXPECT_EQ(boxes(h.run(frame_with(twins))).size(), 1u);
}

/// Returns a property as text; "" for NULL.
std::string text_of(Harness& h, const char* property) {
  g_autofree gchar* text = nullptr;
  g_object_get(h.element(), property, &text, nullptr);
  return text != nullptr ? text : "";
}

/// Lists in force stay, because a typing error should not end a running stream.
TEST(PropertyChanges, KeepsListsOnInvalidChanges) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "person\ndog\n");
  for (const auto& [property, right, wrong] :
       {std::tuple("include-classes", "dog", "persn"),
        std::tuple("include-classes", "!person", "!persn"),
        std::tuple("class-thresholds", "person:0.95", "persn:0.5"),
        std::tuple("min-size", "person:200x200", "persn:1x1"),
        std::tuple("max-size", "person:50x50", "9"),
        std::tuple("regions", "250,250,200,200", "1,2"),
        std::tuple("regions", "!0,0,250,250", "!1,2,3,x"),
        std::tuple("regions", "inside:250,250,200,200", "round:1,2,3,4")}) {
    Harness h("boxdecode label-file=" + labels);
    h.set(property, right);
    const auto found = [&] {
      const Buffer out = h.run(frame_with(kTwoRows));
      EXPECT_TRUE(out) << property << h.error();
      return out ? boxes(out).size() : 99;
    };
    EXPECT_EQ(found(), 1u) << property;
    for (int again = 0; again < 2; ++again) {
      h.set(property, wrong, "score-threshold", 0.3f);
      EXPECT_EQ(text_of(h, property), right) << "at once";
      test::expect_words(h.warning(), {property, "stays", right});
      EXPECT_EQ(found(), 1u) << property;
      EXPECT_EQ(h.warning(), "") << "once";
    }
    h.set(property, "");
    EXPECT_EQ(found(), 2u) << property;
    EXPECT_EQ(h.error(), "");
  }
}

TEST(PropertyChanges, KeepsNamesOnInvalidChanges) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "person\ndog\n");
  for (const auto& [property, right, wrong] : {std::tuple("detector", "yolo26", "yolo62"),
                                               std::tuple("label-file", labels.c_str(), "/none"),
                                               std::tuple("quantization", "0.5:3", "0.5:x:y")}) {
    Harness h("boxdecode");
    h.set(property, right);
    const auto found = [&] {
      const Buffer out = h.run(frame_with(kTwoRows));
      EXPECT_TRUE(out) << property << h.error();
      return out ? boxes(out).size() : 99;
    };
    EXPECT_EQ(found(), 2u) << property;
    for (int again = 0; again < 2; ++again) {
      h.set(property, wrong, "score-threshold", 0.3f);
      EXPECT_EQ(text_of(h, property), right) << "at once";
      test::expect_words(h.warning(), {property, "stays", right});
      EXPECT_EQ(found(), 2u) << property;
      EXPECT_EQ(h.warning(), "") << "once";
    }
    EXPECT_EQ(h.error(), "");
  }
}

TEST(PropertyChanges, RefusesMalformedTextsBeforeTheFirstFrame) {
  Harness h("boxdecode include-classes=1");
  h.set("min-size", "9");
  test::expect_words(h.warning(), {"min-size has \"9\"", "min-size stays \"\""});
  EXPECT_EQ(text_of(h, "min-size"), "");
  h.set("include-classes", "any");
  EXPECT_EQ(h.warning(), "") << "the name may come with the tensors";
}

TEST(PropertyChanges, RefusesLabelsWithoutAClassInUse) {
  const test::TempDir dir;
  const std::string pets = dir.write("l", "cat\ndog\n"), cars = dir.write("m", "car\nbus\n");
  Harness h("boxdecode include-classes=dog label-file=" + pets);
  EXPECT_EQ(boxes(h.run(frame_with(kTwoRows))).size(), 1u);
  h.set("label-file", cars.c_str());
  test::expect_words(h.warning(), {"include-classes names \"dog\"", "label-file stays", "/l"});
  EXPECT_EQ(boxes(h.run(frame_with(kTwoRows))).size(), 1u) << h.error();
  h.set("include-classes", "1", "label-file", cars.c_str());
  const auto found = boxes(h.run(frame_with(kTwoRows)));
  ASSERT_EQ(found.size(), 1u) << h.error();
  EXPECT_STREQ(g_quark_to_string(found[0].label), "bus");
}

/// Files are read when they are set, so that a stream does not end because one is replaced.
TEST(PropertyChanges, ReadsFilesAtOnce) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "cat\ndog\n");
  Harness h("boxdecode");
  EXPECT_EQ(boxes(h.run(frame_with(kTwoRows))).size(), 2u);
  h.set("label-file", labels.c_str());
  ASSERT_EQ(g_remove(labels.c_str()), 0);
  const auto found = boxes(h.run(frame_with(kTwoRows)));
  ASSERT_EQ(found.size(), 2u) << h.error();
  EXPECT_STREQ(g_quark_to_string(found[1].label), "dog");
}

TEST(PropertyChanges, KeepsIdsThatNoTensorHas) {
  Harness h("boxdecode");
  const auto found = [&] {
    const Buffer out = h.run(frame_with(kTwoRows));
    EXPECT_TRUE(out) << h.error();
    return out ? boxes(out).size() : 99;
  };
  EXPECT_EQ(found(), 2u);
  for (const std::string right : {"", "yolo-26-end2end-out"}) {
    h.set("tensor-ids", right.c_str());
    EXPECT_EQ(found(), 2u);
    for (const char* wrong : {"nosuch", "yolo-26-end2end-out,nosuch"}) {
      h.set("tensor-ids", wrong, "score-threshold", 0.3f);
      EXPECT_EQ(text_of(h, "tensor-ids"), right) << "at once";
      test::expect_words(h.warning(),
                         {"nosuch", "have yolo-26-end2end-out", "tensor-ids stays", right.c_str()});
      EXPECT_EQ(found(), 2u) << wrong;
      EXPECT_EQ(h.warning(), "") << "once";
    }
  }
  EXPECT_EQ(h.error(), "");
}

TEST(Start, RejectsInvalidTexts) {
  Harness h("boxdecode include-classes=nonsense");
  EXPECT_FALSE(h.run(frame_with(kTwoRows)));
  EXPECT_NE(h.error().find("nonsense"), std::string::npos);
  const test::TempDir dir;
  const std::string labels = dir.write("l", "person\ndog\n");
  const std::string line = "boxdecode label-file=" + labels + " include-classes=Persn";
  test::expect_words(start_error(line), {"include-classes", "Did you mean person?"});
  for (const auto& [name, text] : {std::pair{"min-size", "16"},
                                   {"max-size", "8x8x8"},
                                   {"regions", "1,2,3"},
                                   {"regions", "!a"},
                                   {"model-size", "640"},
                                   {"model-size", "0x640"},
                                   {"quantization", "x"}})
    EXPECT_NE(start_error(std::string("boxdecode on-mismatch=pass ") + name + "=" + text)
                  .find(std::string("et ") + name + "="),
              std::string::npos)
        << name;
}

TEST(Queries, CapsQueriesReportNoTensors) {
  Harness h("boxdecode");
  for (const char* name : {"sink", "src"}) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(h.element(), name);
    g_autoptr(GstCaps) caps = gst_pad_query_caps(pad, nullptr);
    g_autofree gchar* text = gst_caps_to_string(caps);
    EXPECT_EQ(std::string(text).find("tensors"), std::string::npos) << name << ": " << text;
  }
}

TEST(Segments, InBytesAreNotTimes) {
  Harness h("boxdecode");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  GstBuffer* frame = frame_with(kTwoRows);
  GST_BUFFER_PTS(frame) = 5;
  EXPECT_EQ(boxes(h.run(frame)).size(), 2u);  // criticals are fatal here
}

TEST(Eos, WarnsWhyThereWereNoBoxes) {
  const auto after = [](const std::string& line, GstBuffer* frame) {
    Harness h(line);
    h.run(frame);
    gst_harness_push_event(h.get(), gst_event_new_eos());
    return h.warning();
  };
  EXPECT_EQ(after("boxdecode", frame_with(kTwoRows)), "");
  EXPECT_NE(after("boxdecode score-threshold=0.95", frame_with(kTwoRows)).find("score-threshold"),
            std::string::npos);
  const std::string small =
      after("boxdecode score-threshold=0.95 model-size=64x64", frame_with(kTwoRows));
  test::expect_words(small,
                     {"exceeded the score threshold", "only 64x64", "Lower score-threshold="});
  EXPECT_LT(small.find("score threshold"), small.find("64x64")) << small;
  EXPECT_NE(after("boxdecode include-classes=7", frame_with(kTwoRows)).find("include-classes"),
            std::string::npos);
  EXPECT_NE(after("boxdecode on-mismatch=pass", gst_buffer_new()).find("missing"),
            std::string::npos);
  EXPECT_NE(after("boxdecode model-size=50x50 "
                  "resize-mode=letterbox-center",
                  frame_with({{60, 60, 80, 80, 0.9f, 0}}))
                .find("outside"),
            std::string::npos);
}

TEST(Errors, HaveASourceLocation) {
  Harness h("boxdecode");
  h.run(gst_buffer_new());
  GstBus* bus = gst_element_get_bus(GST_ELEMENT(h.bin()));
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  gst_object_unref(bus);
  ASSERT_NE(message, nullptr);
  g_autofree gchar* debug = nullptr;
  gst_message_parse_error(message, nullptr, &debug);
  gst_message_unref(message);
  EXPECT_EQ(std::string(debug).find("error.cpp"), std::string::npos) << debug;
  EXPECT_NE(std::string(debug).find("boxdecode.cpp"), std::string::npos) << debug;
}

}  // namespace
}  // namespace keepbox
