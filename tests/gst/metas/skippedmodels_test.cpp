// SPDX-License-Identifier: LGPL-2.1-or-later
// The models that did not look at a frame: what decoders note, and where it is kept.
#include "gst/metas/skippedmodels.h"

#include <string>
#include <vector>

#include "gst/metas/carry.h"
#include "gst/metas/wire.h"
#include "tests/gst/decode/source.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::empty_frame;
using test::Harness;
using test::kHd;
using test::Tensor;

/// Returns the models that skipped a frame as text, with "all" for unknown ones.
std::string models_on(GstBuffer* frame) {
  const SkippedModels skipped(frame);
  EXPECT_EQ(skipped.any(), skipped.all() || !skipped.noted().empty());
  std::string out = skipped.all() ? "all " : "";
  for (const GQuark model : skipped.noted()) out += std::string(g_quark_to_string(model)) + " ";
  return out;
}
std::string models_on(const Buffer& frame) { return frame ? models_on(frame.get()) : "no frame"; }

Buffer skipped_frame(const TensorProvenance& source) {
  Buffer out = empty_frame();
  note_skipped(out.get(), std::make_shared<const TensorProvenance>(source));
  return out;
}

TEST(SkippedModels, AreNotedByTheirDecoder) {
  Harness h("boxdecode", kHd);
  EXPECT_EQ(models_on(h.run(skipped_frame(test::rows_model()).release())), "rows ")
      << "before the first look";
  EXPECT_EQ(models_on(h.run(test::with_source(test::rows_model()))), "");
  EXPECT_EQ(models_on(h.run(test::with_source(test::rows_model(), {}))), "") << "looked at, empty";
  EXPECT_EQ(models_on(h.run(skipped_frame(test::rows_model()).release())), "rows ");
  TensorProvenance held = test::rows_model();
  held.held = true;
  EXPECT_EQ(models_on(h.run(test::with_source(held))), "rows ") << "boxes of an earlier frame";
  EXPECT_EQ(models_on(h.run(test::with_source(held, {}))), "rows ");
}

TEST(SkippedModels, HaveTheirDecodersNameForThem) {
  Harness named("boxdecode model-name=street", kHd);
  EXPECT_EQ(models_on(named.run(skipped_frame(test::rows_model()).release())), "street ");
  Harness unnamed("boxdecode name=decoder", kHd);
  Buffer frame = empty_frame();
  note_skipped(frame.get());
  EXPECT_EQ(models_on(unnamed.run(frame.release())), "decoder ");
}

/// A decoder has its model only after a look: the first one takes what it finds.
TEST(SkippedModels, AreOneForEachDecoder) {
  Harness h("boxdecode name=a ! boxdecode name=b", kHd);
  TensorProvenance one = test::rows_model(), two = one;
  one.producer = new_producer(), two.producer = new_producer();
  one.model = "one", two.model = "two";
  const auto models = [&](bool first, bool second) {
    GstBuffer* frame = empty_frame().release();
    for (const auto& [source, looks] : {std::pair(one, first), std::pair(two, second)}) {
      auto shared = std::make_shared<const TensorProvenance>(source);
      if (looks) test::attach(frame, test::plain_rows(test::kOne), std::move(shared));
      else note_skipped(frame, std::move(shared));
    }
    return models_on(h.run(frame));
  };
  EXPECT_EQ(models(false, false), "a b ");
  EXPECT_EQ(models(false, true), "b ") << "the same name, so that its look is still waited for";
  EXPECT_EQ(models(true, false), "two ");
  EXPECT_EQ(models(false, false), "two one ");
}

TEST(SkippedModels, AreNotedByTheirClassifier) {
  TensorProvenance eyes{.producer = new_producer(), .model = "eyes"};
  for (const bool named : {false, true}) {
    Harness h(std::string("classdecode name=decoder ") + (named ? "model-name=weather" : ""), kHd);
    const std::string noted = named ? "weather " : "eyes ";
    const auto looked = [&] {
      GstBuffer* frame = empty_frame().release();
      test::attach(frame, Tensor{{0.25f, 0.75f}, {1, 2}, "x"},
                   std::make_shared<const TensorProvenance>(eyes));
      return h.run(frame);
    };
    EXPECT_EQ(models_on(h.run(skipped_frame(eyes).release())), noted) << "before the first look";
    EXPECT_EQ(models_on(looked()), "") << h.error();
    EXPECT_EQ(models_on(h.run(skipped_frame(eyes).release())), noted);
    Buffer other = skipped_frame(test::rows_model());
    note_skipped_model(other.get(), g_quark_from_string("rows"));
    EXPECT_EQ(models_on(h.run(other.release())), "rows ") << "its own model did not skip it";
    TensorProvenance parts = eyes;
    parts.objects = true;
    Harness of_objects("classdecode", kHd);
    EXPECT_EQ(models_on(of_objects.run(skipped_frame(parts).release())), "") << "no object";
  }
}

/// A detector that looked, and a classifier that did not, are told apart.
TEST(SkippedModels, AreNotedByAClassifierBesidesADetector) {
  TensorProvenance eyes{.producer = new_producer(), .model = "eyes"}, rows = test::rows_model();
  rows.producer = new_producer();
  Harness h("boxdecode ! classdecode", kHd);
  const auto models = [&](bool detected, bool classified) {
    GstBuffer* frame = empty_frame().release();
    const auto of = [](const TensorProvenance& source) {
      return std::make_shared<const TensorProvenance>(source);
    };
    if (detected) test::attach(frame, test::plain_rows(test::kOne), of(rows));
    else note_skipped(frame, of(rows));
    if (classified) test::attach(frame, Tensor{{0.25f, 0.75f}, {1, 2}, "x"}, of(eyes));
    else note_skipped(frame, of(eyes));
    return models_on(h.run(frame));
  };
  EXPECT_EQ(models(true, false), "eyes ");
  EXPECT_EQ(models(true, true), "") << h.error();
  EXPECT_EQ(models(false, true), "rows ");
  EXPECT_EQ(models(false, false), "rows eyes ");
}

TEST(SkippedModels, IncludeThoseWhoseTensorsCannotBeDecoded) {
  Harness h("boxdecode model-name=street on-mismatch=pass", kHd);
  GstBuffer* odd = empty_frame().release();
  test::attach(odd, Tensor{std::vector<float>(6), {2, 3}, "odd"});
  EXPECT_EQ(models_on(h.run(odd)), "street ");
}

/// Without objects there was nothing to look for.
TEST(SkippedModels, DoNotIncludeModelsOfNoObject) {
  Harness h("boxdecode", kHd);
  TensorProvenance parts = test::rows_model();
  parts.objects = true;
  EXPECT_EQ(models_on(h.run(skipped_frame(parts).release())), "");
}

/// Objects that are missing because their model skipped the frame, as one in another process, are
/// not looked at.
TEST(SkippedModels, IncludeModelsOfObjectsThatAreUnknown) {
  TensorProvenance parts = test::rows_model();
  parts.objects = true;
  Harness h("boxdecode model-name=parts", kHd);
  Buffer frame = skipped_frame(parts);
  note_skipped_model(frame.get(), g_quark_from_string("street"));
  EXPECT_EQ(models_on(h.run(frame.release())), "street parts ");
}

TEST(SkippedModels, AreUnknownBehindOtherDecoders) {
  const Buffer frame = skipped_frame(test::rows_model());
  EXPECT_EQ(models_on(frame), "all ");
  EXPECT_TRUE(SkippedModels(frame.get()).has(g_quark_from_string("any")));
  EXPECT_EQ(models_on(empty_frame()), "") << "a frame of an application";
}

/// A classifier of whole frames may skip a frame that a detector looked at, and notes nothing.
TEST(SkippedModels, DoNotIncludeOneThatLookedBesidesASkippedClassifier) {
  Harness h("boxdecode", kHd);
  for (const auto& found : {test::kOne, {}}) {
    const Buffer frame = h.run(test::with_source(test::rows_model(), found));
    ASSERT_TRUE(frame) << h.error();
    note_skipped(frame.get());
    EXPECT_EQ(models_on(frame), "");
  }
}

TEST(SkippedModels, FollowTheirFrame) {
  const Buffer frame = empty_frame();
  for (const char* model : {"a", "b", "a"})
    note_skipped_model(frame.get(), g_quark_from_string(model));
  EXPECT_EQ(models_on(frame), "a b ");
  EXPECT_TRUE(SkippedModels(frame.get()).has(g_quark_from_string("b")));
  EXPECT_FALSE(SkippedModels(frame.get()).has(g_quark_from_string("c")));
  EXPECT_EQ(models_on(Buffer(gst_buffer_copy(frame.get()))), "a b ");

  const Buffer sent = empty_frame();
  ASSERT_TRUE(unpack_boxes(pack_boxes(frame.get()), sent.get()));
  EXPECT_EQ(models_on(sent), "a b ") << "in another process";

  GstVideoInfo small, large;
  gst_video_info_set_format(&small, GST_VIDEO_FORMAT_RGB, 64, 32);
  gst_video_info_set_format(&large, GST_VIDEO_FORMAT_RGB, 128, 128);
  const Buffer restored = empty_frame();
  carry_analytics(frame.get(), small, restored.get(), large, PixelMap::scale(2, 4),
                  MovedProvenance{});
  EXPECT_EQ(models_on(restored), "a b ") << "on another frame of the same picture";
}

/// No decoder of ours was there, whose boxes would make the meta that is sent.
TEST(SkippedModels, ReachOtherProcessesWithoutADecoder) {
  const Buffer frame = empty_frame();
  note_skipped_frame(frame.get(), std::make_shared<const TensorProvenance>(test::rows_model()));
  EXPECT_EQ(models_on(frame), "all ");
  const Buffer there = test::sent(frame.get());
  const SkippedModels skipped(there.get());
  EXPECT_EQ(models_on(there), "all ");
  EXPECT_TRUE(skipped.has(0)) << "other decoders name no model";
  EXPECT_TRUE(skipped.has(g_quark_from_string("eyes"))) << "or do";
  EXPECT_EQ(models_on(test::sent(there.get())), "all ") << "and from there to a third";
}

TEST(SkippedModels, StayWhenThePictureIsScaled) {
  Harness h("boxdecode ! videoscale ! capsfilter caps=video/x-raw,width=320,height=240", kHd);
  Buffer frame(gst_buffer_new_allocate(nullptr, gsize{1920} * 1080 * 3, nullptr));
  note_skipped(frame.get(), std::make_shared<const TensorProvenance>(test::rows_model()));
  EXPECT_EQ(models_on(h.run(frame.release())), "rows ");
}

}  // namespace
}  // namespace keepbox
