// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts on a frame: copies, scalers, flips, framerestore, tee and other processes.
#include "gst/metas/counts.h"

#include <format>

#include "gst/metas/wire.h"
#include "tests/gst/frames/restore.h"
#include "tests/gst/metas/frametext.h"
#include "tests/gst/metas/parts.h"

namespace keepbox::test::framecounts {
namespace {

/// Counts of a frame of 192 x 108, with all that they can have.
FrameCounts plain_counts() {
  return {.lines = {{.name = "gate",
                     .points = {Corner{30, 60}, Corner{150, 60}},
                     .directions = {"enter", "leave"},
                     .crossed = {3, 1},
                     .uncertain = {0, 2}}},
          .zones = {{.name = "queue",
                     .corners = {{0, 0}, {60, 0}, {60, 30}},
                     .present = {{.object = {g_quark_from_string("street"), 7},
                                  .label = g_quark_from_string("person"),
                                  .since = 5 * GST_SECOND,
                                  .dwell = 3 * GST_SECOND,
                                  .alarmed = true}},
                     .visits = 9,
                     .mean = 4 * GST_SECOND,
                     .longest = 8 * GST_SECOND,
                     .crowded = true}},
          .notes = {{.kind = CountNote::Kind::kCrossed,
                     .name = "gate",
                     .direction = "enter",
                     .object = {g_quark_from_string("street"), 7},
                     .label = g_quark_from_string("person"),
                     .ago = 40 * GST_MSECOND},
                    {.kind = CountNote::Kind::kLeft,
                     .name = "queue",
                     .object = {0, 8},
                     .unnamed = true,
                     .dwell = GST_SECOND,
                     .now = 2}}};
}

Buffer counted() {
  Buffer out(gst_buffer_new_allocate(nullptr, 64, nullptr));
  attach_counts(out.get(), plain_counts());
  return out;
}

std::string text_of(const FrameCounts& counts) { return counts_text(counts); }
std::string text_of(const Buffer& buffer) {
  const FrameCounts* counts = counts_of(buffer.get());
  return counts != nullptr ? counts_text(*counts) : "none";
}

TEST(FrameCounts, AreOnTheFrameAndItsCopies) {
  const Buffer frame = counted();
  EXPECT_EQ(text_of(frame), text_of(plain_counts()));
  const Buffer copy(gst_buffer_copy(frame.get()));
  EXPECT_EQ(text_of(copy), text_of(plain_counts()));
  EXPECT_EQ(text_of(empty_frame()), "none");
}

TEST(FrameCounts, AddUp) {
  const Buffer frame = counted();
  FrameCounts more;
  more.lines.push_back({.name = "second"});
  const Buffer copy(gst_buffer_copy(frame.get()));
  attach_counts(copy.get(), more);
  ASSERT_EQ(counts_of(copy.get())->lines.size(), 2u);
  EXPECT_EQ(counts_of(copy.get())->lines[1].name, "second");
  EXPECT_EQ(counts_of(frame.get())->lines.size(), 1u);
}

TEST(FrameCounts, ReachOtherProcesses) {
  const Buffer frame = counted();
  EXPECT_EQ(text_of(sent(frame.get())), text_of(plain_counts()));
  EXPECT_EQ(gst_buffer_get_analytics_relation_meta(sent(frame.get()).get()), nullptr)
      << "no decoder was there";
  FrameBox box = plain_box({1, 2, 30, 40});
  attach(frame.get(), {&box, 1});
  const Buffer there = sent(frame.get());
  EXPECT_EQ(text_of(there), text_of(plain_counts()));
  EXPECT_EQ(boxes(there).size(), 1u);
  EXPECT_EQ(text_of(sent(Buffer(gst_buffer_copy(there.get())).get())), text_of(plain_counts()));
}

TEST(FrameCounts, RefuseDamagedBytes) {
  const auto bytes = pack_counts(plain_counts());
  ASSERT_TRUE(unpack_counts(bytes));
  EXPECT_EQ(text_of(*unpack_counts(bytes)), text_of(plain_counts()));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(unpack_counts(std::span(bytes).first(size))) << size;
}

TEST(FrameCounts, GoWithAnEvent) {
  GstEvent* event = counts_event(plain_counts());
  const auto counts = counts_of_event(event);
  ASSERT_TRUE(counts);
  EXPECT_EQ(text_of(*counts), text_of(plain_counts()));
  gst_event_unref(event);
  GstEvent* other = gst_event_new_eos();
  EXPECT_FALSE(counts_of_event(other));
  gst_event_unref(other);
}

// Changes of the picture.

/// Returns the counts after an element. @param size of its frames
FrameCounts through(const std::string& line, const std::string& caps = kFull) {
  Harness h(line, caps);
  Buffer in(gst_buffer_new_allocate(nullptr, 192 * 108 * 3, nullptr));
  attach_counts(in.get(), plain_counts());
  const Buffer out = h.run(in.release());
  const FrameCounts* counts = out ? counts_of(out.get()) : nullptr;
  EXPECT_NE(counts, nullptr) << h.error();
  return counts != nullptr ? *counts : FrameCounts{};
}

void expect_at(Corner p, double x, double y) {
  EXPECT_NEAR(p.x, x, 1e-4);
  EXPECT_NEAR(p.y, y, 1e-4);
}

TEST(FrameCounts, ScaleWithThePicture) {
  const FrameCounts out = through(
      "videoconvertscale ! video/x-raw,width=96,height=54,pixel-aspect-ratio=1/1 ! identity");
  ASSERT_EQ(out.lines.size(), 1u);
  expect_at(out.lines[0].points[0], 15, 30);
  expect_at(out.lines[0].points[1], 75, 30);
  expect_at(out.zones[0].corners[2], 30, 15);
  EXPECT_EQ(out.lines[0].crossed, (ByDirection{3, 1}));
  EXPECT_EQ(out.zones[0].present.size(), 1u);
  EXPECT_EQ(out.notes.size(), 2u);
}

TEST(FrameCounts, KeepTheirDirectionsInAMirror) {
  // The first point is on the left again, so that up is to the left of it.
  const FrameCounts mirrored = moved_counts(plain_counts(), PixelMap::scale(-1, 1, 192, 0));
  expect_at(mirrored.lines[0].points[0], 42, 60);
  expect_at(mirrored.lines[0].points[1], 162, 60);
  const FrameCounts turned = moved_counts(plain_counts(), PixelMap::scale(-1, -1, 192, 108));
  expect_at(turned.lines[0].points[0], 162, 48);
  expect_at(turned.lines[0].points[1], 42, 48);
}

TEST(FrameCounts, AreRestoredWithTheFrame) {
  Harness h(
      "framesave ! videoconvertscale "
      "! video/x-raw,width=64,height=64,pixel-aspect-ratio=1/1 ! identity name=mid "
      "! framerestore",
      kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    FrameCounts counts;
    counts.lines.push_back({.name = "scaled", .points = {Corner{0, 14}, Corner{64, 50}}});
    attach_counts(buffer, counts);
  };
  g_signal_connect(mid, "handoff", G_CALLBACK(add), nullptr);
  gst_object_unref(mid);
  GstBuffer* frame = full_frame();
  attach_counts(frame, plain_counts());
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  const FrameCounts* counts = counts_of(out.get());
  ASSERT_NE(counts, nullptr);
  ASSERT_EQ(counts->lines.size(), 2u) << "before and in between";
  EXPECT_NEAR(counts->lines[0].points[0].x, 30, 0.01);
  EXPECT_NEAR(counts->lines[0].points[0].y, 60, 0.01);
  EXPECT_NEAR(counts->lines[1].points[1].x, 192, 0.01);
  EXPECT_NEAR(counts->lines[1].points[1].y, 108, 0.01);
}

}  // namespace
}  // namespace keepbox::test::framecounts
