// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that a model skipped, in lines with one model and with two.

#include "gst/tensors/provenance.h"
#include "tests/gst/decode/source.h"
#include "tests/gst/frames.h"

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
using test::with_source;

TEST(SkippedFrames, FramesHaveNoBoxesAndNoMismatch) {
  Harness h("boxdecode", kHd);
  const auto skipped = [] {
    GstBuffer* out = empty_frame().release();
    note_skipped(out);
    return out;
  };
  EXPECT_FALSE(was_skipped(empty_frame().get()));
  const Buffer before = h.run(skipped());
  ASSERT_TRUE(before) << h.error();
  EXPECT_TRUE(boxes(before).empty()) << "an empty meta";
  EXPECT_EQ(boxes(h.run(with_source(rows_model()))).size(), 1u);
  const Buffer copied(skipped());
  EXPECT_TRUE(boxes(h.run(gst_buffer_copy(copied.get()))).empty());
  EXPECT_EQ(counted(h.element(), "skipped-frames"), 2u);
  EXPECT_EQ(counted(h.element(), "mismatches"), 0u);
  EXPECT_EQ(counted(h.element(), "frames"), 3u);
  EXPECT_FALSE(h.run(empty_frame().release())) << "nobody left that one out";
}

/// Both decoders are after both models; each decoder follows the element that it decoded before.
TEST(SkippedFrames, FrameOfOneModelLeavesItsDecoderNothing) {
  Harness h("boxdecode model-name=first ! boxdecode model-name=second", kHd);
  TensorProvenance one = rows_model(), two = rows_model();
  one.producer = new_producer();
  two.producer = new_producer();
  const auto models_on = [&](bool first, bool second) {
    GstBuffer* frame = empty_frame().release();
    for (const auto& [source, there] : {std::pair(one, first), std::pair(two, second)}) {
      auto shared = std::make_shared<const TensorProvenance>(source);
      if (there) attach(frame, plain_rows(kOne), std::move(shared));
      else note_skipped(frame, std::move(shared));
    }
    const Buffer out = h.run(frame);
    EXPECT_TRUE(out) << h.error();
    std::string models;
    for (const FrameBox& box : out ? boxes(out) : std::vector<FrameBox>{})
      models += std::string(g_quark_to_string(box.model)) + " ";
    return models;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(models_on(true, true), "first second ");
    EXPECT_EQ(models_on(false, true), "second ");
    EXPECT_EQ(models_on(true, false), "first ");
    EXPECT_EQ(models_on(false, false), "");
    one.geometry.pad_y += 1;  // framesave and framerestore map sources, but not the note
  }
  EXPECT_EQ(counted(h.element(), "mismatches"), 0u);
  EXPECT_EQ(h.warning(), "");
}

TEST(SkippedFrames, FrameOfOneModelIsDecodedForTheOther) {
  Harness h("boxdecode ! boxdecode", kHd);
  GstBuffer* one = with_source(rows_model());
  note_skipped(one);
  const Buffer out = h.run(one);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).size(), 1u);
  Harness named("boxdecode tensor-ids=a ! boxdecode tensor-ids=b", kHd);
  one = empty_frame().release();
  attach(one, plain_rows(kOne, "b"), std::make_shared<const TensorProvenance>(rows_model()));
  note_skipped(one);
  const Buffer second = named.run(one);
  ASSERT_TRUE(second) << named.error();
  EXPECT_EQ(boxes(second).size(), 1u);
}

TEST(SkippedFrames, SayNothingAboutChangedIds) {
  Harness h("boxdecode tensor-ids=a", kHd);
  const auto found = [&](std::vector<const char*> ids, bool skipped) {
    GstBuffer* frame = empty_frame().release();
    for (const char* id : ids) attach(frame, plain_rows(kOne, id), nullptr);
    if (skipped) note_skipped(frame);
    const Buffer out = h.run(frame);
    EXPECT_TRUE(out) << h.error();
    return out ? boxes(out).size() : 99;
  };
  EXPECT_EQ(found({"a", "b"}, false), 1u);
  h.set("tensor-ids", "b");
  EXPECT_EQ(found({"a"}, true), 0u) << "the model of b may run on the next one";
  EXPECT_EQ(found({"a", "b"}, false), 1u);
  EXPECT_EQ(h.warning(), "");
  h.set("tensor-ids", "c");
  EXPECT_EQ(found({"a"}, true), 0u);
  EXPECT_EQ(found({"a", "b"}, false), 1u);
  test::expect_words(h.warning(), {"id c", "tensor-ids stays \"b\""});
}

}  // namespace
}  // namespace keepbox
