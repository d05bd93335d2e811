// SPDX-License-Identifier: LGPL-2.1-or-later
// Refuses packed boxes that need more metas than a frame has.
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "gst/metas/wire.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::Buffer;
using Bytes = std::vector<guint8>;

/// The lists of a frame, each after its length: boxes, weak boxes, labels, classes, skipped models.
constexpr size_t kLists = 5;

/// Returns the packed box of a frame with one box. @param list the number of its list.
Bytes only_box(GstBuffer* frame, size_t list) {
  const Bytes all = pack_boxes(frame);
  constexpr ptrdiff_t kLength = sizeof(guint32);
  const auto before = static_cast<ptrdiff_t>(list), after = static_cast<ptrdiff_t>(kLists) - before;
  // whether all models skipped the frame, no lines, zones and notes, whether there are only these
  constexpr ptrdiff_t kEnd = 1 + 3 * kLength + 1;
  return {all.begin() + (before + 1) * kLength, all.end() - kEnd - (after - 1) * kLength};
}

/// Returns why these boxes in turns are refused. @param list the number of their list.
std::string why_not(const std::vector<Bytes>& turns, guint32 count, size_t list) {
  ByteWriter all;
  for (size_t i = 0; i < kLists; ++i) {
    all.put_count(i == list ? count : 0);
    for (guint32 box = 0; i == list && box < count; ++box)
      for (const guint8 byte : turns[box % turns.size()]) all.put(byte);
  }
  all.put<guint8>(0);                               // not all models skipped the frame
  for (size_t i = 0; i < 3; ++i) all.put_count(0);  // no lines, zones and notes
  all.put<guint8>(0);                               // not only these
  const Buffer to = test::empty_frame();
  const Status status = unpack_boxes(all.bytes(), to.get());
  return status ? "" : status.error().message();
}

GQuark received(const std::string& name) {
  ByteWriter out;
  out.put_text(name);
  return ByteReader(out.bytes()).get_name();
}

/// Exits with 0 if names that this process did not know are limited in number.
[[noreturn]] void receive_names() {
  bool right = received("wire-name-known") != 0;
  for (size_t i = 1; i < kMaxWireNames; ++i)
    right &= received("wire-name-" + std::to_string(i)) != 0;
  for (const char* name : {"wire-name-too-many", "wire-name-too-many", "and-another"})
    right &= received(name) == 0 && g_quark_try_string(name) == 0;
  right &= received("wire-name-known") == g_quark_try_string("wire-name-known");
  std::exit(right ? 0 : 1);
}

/// In a process of its own, because names are never forgotten.
TEST(WireNamesDeathTest, AreLimited) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(receive_names(), testing::ExitedWithCode(0), "");
}

/// Each run of boxes of a model has records of its own.
TEST(WireLimits, CountModels) {
  std::vector<Bytes> boxes;
  for (const bool held : {false, true}) {
    FrameBox weak = test::plain_box({1, 2, 30, 40}, 0.125f);
    weak.held = held;
    const Buffer from = test::empty_frame();
    test::attach(from.get(), std::span<FrameBox>());
    attach_weak_boxes(from.get(), {&weak, 1});
    boxes.push_back(only_box(from.get(), 1));
  }
  EXPECT_EQ(why_not(boxes, 20'000, 1), "Too many boxes for a frame");
  boxes.pop_back();
  EXPECT_EQ(why_not(boxes, 20'000, 1), "");
}

TEST(WireLimits, CountTracksAndClasses) {
  const auto why_not_with = [](const std::function<void(GstAnalyticsRelationMeta*, guint)>& add) {
    FrameBox box = test::plain_box({1, 2, 30, 40});
    const Buffer from = test::empty_frame();
    test::attach(from.get(), {&box, 1});
    add(gst_buffer_get_analytics_relation_meta(from.get()), box.od_id);
    return why_not({only_box(from.get(), 0)}, 6000, 0);
  };
  EXPECT_EQ(why_not_with([](GstAnalyticsRelationMeta*, guint) {}), "");
  EXPECT_EQ(why_not_with([](GstAnalyticsRelationMeta* meta, guint od_id) {
              add_track(meta, od_id, {.id = 7, .first_seen = 5, .last_seen = 9});
            }),
            "Too many boxes for a frame");
  EXPECT_EQ(why_not_with([](GstAnalyticsRelationMeta* meta, guint od_id) {
              add_classes(meta, od_id,
                          {{g_quark_from_string("red")}, {1}, GST_ANALYTICS_REL_TYPE_CONTAIN});
            }),
            "Too many boxes for a frame");
}

}  // namespace
}  // namespace keepbox
