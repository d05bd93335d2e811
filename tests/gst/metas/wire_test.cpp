// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes reach another process with the bytes of their frame.
#include <chrono>
#include <condition_variable>
#include <format>
#include <mutex>
#include <random>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "gst/metas/wire.h"
#include "tests/gst/metas/frametext.h"
#include "tests/gst/metas/parts.h"
#include "tests/masks.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::plain_box;
using test::sent;
using test::text_of;

/// A frame with everything that boxes can have.
class WireFormat : public testing::Test {
 protected:
  WireFormat() : frame(gst_buffer_new_allocate(nullptr, 64, nullptr)) {
    std::vector<FrameBox> list{plain_box({10.5f, 20.25f, 60, 80}, 0.75f),
                               plain_box({15, 30, 30, 50}, 0.5f), plain_box({100, 9, 140, 70})};
    list[0].keypoints = {points_, edges_, g_quark_from_string("hand")};
    list[0].mask = disc_.over({12, 22, 58, 78});
    list[0].model = g_quark_from_string("people");
    list[2].values = {values_, g_quark_from_string("embedding")};
    list[2].angle = 0.5f;
    list[2].held = true;
    test::attach(frame.get(), std::span(list).first(1));
    list[1].parent = list[0].od_id;
    test::attach(frame.get(), std::span(list).subspan(1));
    meta = gst_buffer_get_analytics_relation_meta(frame.get());
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("foreign"), 3, 4, 5, 6, 0.25f,
                                           nullptr);
    add_track(meta, list[0].od_id, {.id = 77, .first_seen = 5, .last_seen = 9, .lost = true});
    add_classes(meta, list[2].od_id,
                {{g_quark_from_string("red"), g_quark_from_string("blue")},
                 {0.75f, 0.25f},
                 GST_ANALYTICS_REL_TYPE_CONTAIN,
                 GST_ANALYTICS_REL_TYPE_IS_PART_OF});
    add_classes(meta, G_MAXUINT, {{g_quark_from_string("street")}, {0.5f}});
    add_labels(meta, {g_quark_from_string("reader"), g_quark_from_string("plate")},
               std::vector<ObjectLabel>{
                   {.od_id = list[2].od_id, .class_id = G_MAXUINT, .level = 0.5f, .text = "KB 1"},
                   {.od_id = kWholeFrame, .class_id = G_MAXUINT, .level = 0.25f, .text = "EXIT"}});
    std::vector<FrameBox> weak{plain_box({1, 2, 30, 40}, 0.125f)};
    weak[0].keypoints = {points_, edges_, g_quark_from_string("hand")};
    attach_weak_boxes(frame.get(), weak);
    FrameCounts counts;
    counts.lines.push_back(
        {.name = "gate", .points = {Corner{1, 2}, Corner{3, 4}}, .crossed = {5, 6}});
    counts.zones.push_back({.name = "queue", .corners = {{0, 0}, {9, 0}, {9, 9}}, .visits = 7});
    counts.zones[0].present.push_back({.object = {g_quark_from_string("people"), 77}, .dwell = 8});
    counts.notes.push_back({.name = "gate", .direction = "in", .object = {0, 77}, .ago = 9});
    attach_counts(frame.get(), counts);
  }

  std::vector<Keypoint> points_{{11, 21, 0.5f}, {40, 60, 1}, {-3, 70, 0.25f}};
  std::vector<Edge> edges_{{0, 1}, {1, 2}};
  std::vector<float> values_{1, -2, 0.5f};
  test::TestMask disc_{33, 12, [](guint x, guint y) { return (x + y) % 3 == 0; }};
  Buffer frame;
  GstAnalyticsRelationMeta* meta;
};

Buffer empty() { return Buffer(gst_buffer_new_allocate(nullptr, 64, nullptr)); }

TEST_F(WireFormat, ArrivesAsItWas) {
  const std::string wanted = text_of(frame.get());
  const Buffer there = sent(frame.get());
  EXPECT_EQ(text_of(there.get()), wanted);
  // And again, as from a process in between, and from a copy.
  const Buffer copy(gst_buffer_copy(there.get()));
  EXPECT_EQ(text_of(sent(copy.get()).get()), wanted);
}

TEST_F(WireFormat, ArrivesWithoutBoxesToo) {
  const Buffer none = empty();
  test::attach(none.get(), std::span<FrameBox>());
  EXPECT_EQ(text_of(sent(none.get()).get()), "boxes\n") << "the model ran and found nothing";
  const Buffer plain = empty();
  add_wire_meta(plain.get());
  EXPECT_EQ(text_of(sent(plain.get()).get()), "none\n");
}

TEST_F(WireFormat, HasBoxesThatWereAddedLater) {
  FrameBox more = plain_box({1, 2, 3, 4});
  test::attach(frame.get(), {&more, 1});
  EXPECT_EQ(text_of(sent(frame.get()).get()), text_of(frame.get()));
}

/// A mask of the frame's size may be larger than any prototype.
TEST_F(WireFormat, HasLargeMasks) {
  const test::TestMask large(2100, 2100, [](guint x, guint y) { return x == y; });
  FrameBox box = plain_box({0, 0, 2100, 2100});
  box.mask = large.over({0, 0, 2100, 2100});
  const Buffer from = empty(), to = empty();
  test::attach(from.get(), {&box, 1});
  ASSERT_TRUE(unpack_boxes(pack_boxes(from.get()), to.get()));
  EXPECT_EQ(text_of(to.get()), text_of(from.get()));
}

TEST_F(WireFormat, HasWhatBoxesAre) {
  std::vector<FrameBox> list(4, plain_box({1, 2, 30, 40}));
  list[0].unnamed = list[1].held = list[2].predicted = list[3].coco = true;
  const Buffer from = empty();
  test::attach(from.get(), list);
  EXPECT_EQ(text_of(sent(from.get()).get()), text_of(from.get()));
}

/// A box has one label of each attribute of a model, the first.
TEST_F(WireFormat, KeepsOneLabelOfAModelForEachBox) {
  std::vector<FrameBox> list(2, plain_box({1, 2, 30, 40}));
  const Buffer from = empty(), to = empty();
  test::attach(from.get(), list);
  const auto label = [](guint od_id, const char* text) {
    return ObjectLabel{.od_id = od_id, .class_id = G_MAXUINT, .level = 0.5f, .text = text};
  };
  const LabelSubject about{g_quark_from_string("reader"), g_quark_from_string("plate")};
  const auto add = [&](std::vector<ObjectLabel> labels) {
    add_labels(gst_buffer_get_analytics_relation_meta(from.get()), about, labels);
  };
  add({label(list[0].od_id, "KB 1"), label(list[1].od_id, "KB 2")});
  add({label(list[1].od_id, "KB 3")});
  ASSERT_NE(text_of(from.get()).find("KB 3"), std::string::npos);
  ASSERT_TRUE(unpack_boxes(pack_boxes(from.get()), to.get()));
  const std::string text = text_of(to.get());
  EXPECT_NE(text.find("KB 1"), std::string::npos) << text;
  EXPECT_NE(text.find("KB 2"), std::string::npos) << text;
  EXPECT_EQ(text.find("KB 3"), std::string::npos) << text;
}

TEST_F(WireFormat, RefusesCutBytes) {
  const auto bytes = pack_boxes(frame.get());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Buffer to = empty();
    EXPECT_FALSE(unpack_boxes(std::span(bytes).first(size), to.get())) << size;
    EXPECT_EQ(gst_buffer_get_analytics_relation_meta(to.get()), nullptr) << size;
  }
}

TEST_F(WireFormat, SurvivesAnyBytes) {
  std::minstd_rand random(1);
  const auto bytes = pack_boxes(frame.get());
  size_t taken = 0;
  for (int run = 0; run < 1000; ++run) {
    auto damaged = bytes;
    for (unsigned i = 0; i <= random() % 4; ++i)
      damaged[random() % damaged.size()] = static_cast<guint8>(random() % 5 == 0 ? 255 : random());
    const Buffer to = empty();
    if (unpack_boxes(damaged, to.get())) ++taken, text_of(to.get());
    else EXPECT_EQ(gst_buffer_get_analytics_relation_meta(to.get()), nullptr);
  }
  EXPECT_GT(taken, 30u) << "values without limits are taken";
}

/// Others may write a size of which one side is 0, without the place and the pixels.
TEST_F(WireFormat, HasNoMaskWithoutPixels) {
  const Buffer from = empty();
  FrameBox box = plain_box({1, 2, 30, 40});
  box.mask = disc_.over({1, 2, 30, 40});
  test::attach(from.get(), {&box, 1});
  const auto bytes = pack_boxes(from.get());
  const guint32 size[] = {33, 12};
  const std::span<const guint8> pattern(reinterpret_cast<const guint8*>(size), sizeof size);
  const auto at = std::ranges::search(bytes, pattern).begin();
  ASSERT_NE(at, bytes.end());
  const auto after = at + sizeof size;
  const size_t place = 4 * sizeof(float), words = 2 * 12 * sizeof(guint32);
  FrameBox bare = plain_box({1, 2, 30, 40});
  const Buffer wanted = empty();
  test::attach(wanted.get(), {&bare, 1});
  for (const size_t side : {0, 1}) {
    std::vector<guint8> without(bytes.begin(), after);
    std::fill_n(without.end() - (side == 0 ? 8 : 4), 4, guint8{0});
    without.insert(without.end(), after + static_cast<ptrdiff_t>(place + words), bytes.end());
    const Buffer to = empty();
    ASSERT_TRUE(unpack_boxes(without, to.get())) << side;
    EXPECT_EQ(text_of(to.get()), text_of(wanted.get())) << side;
  }
}

TEST_F(WireFormat, HasAVersionForEachLayout) {
  const auto bytes = pack_boxes(frame.get());
  g_autofree gchar* sum =
      g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes.data(), bytes.size());
  EXPECT_EQ(std::format("version {}: {:.16}", kWireVersion, sum), "version 5: 25d1ce78a3b23398")
      << "raise kWireVersion if the layout changed; older readers would take it for damaged";
}

TEST_F(WireFormat, RefusesAnotherVersion) {
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  gpointer state = nullptr;
  while (GstMeta* each = gst_buffer_iterate_meta(frame.get(), &state))
    gst_meta_serialize_simple(each, bytes);
  // The version follows the name.
  const std::string name = "KeepboxBoxesMeta";
  const std::string_view all(reinterpret_cast<char*>(bytes->data), bytes->len);
  const size_t at = all.find(name) + name.size() + 1;
  ASSERT_EQ(bytes->data[at], kWireVersion);
  bytes->data[at] = kWireVersion + 1;
  const Buffer to = empty();
  guint32 used = 0;
  EXPECT_EQ(gst_meta_deserialize(to.get(), bytes->data, bytes->len, &used), nullptr);
  EXPECT_GT(used, 0u) << "what follows can still be read";
  EXPECT_EQ(text_of(to.get()), "none\n");
}

/// The first frame that arrives, as text.
class Arrived {
 public:
  void take(GstBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = text_of(buffer);
    changed_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [this] { return !text_.empty(); });
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

/// Calls a function for each buffer that reaches the element "end" of a pipeline.
void probe(GstElement* pipeline, GstPadProbeCallback call, gpointer data) {
  GstElement* end = gst_bin_get_by_name(GST_BIN(pipeline), "end");
  GstPad* pad = gst_element_get_static_pad(end, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, call, data, nullptr);
  gst_object_unref(pad);
  gst_object_unref(end);
}

TEST_F(WireFormat, PassesUnixFdSinkAndSource) {
  for (const char* name : {"unixfdsink", "unixfdsrc"}) {
    g_autoptr(GstElementFactory) factory = gst_element_factory_find(name);
    if (factory == nullptr) GTEST_SKIP() << "there is no " << name;
  }
  const test::TempDir dir;
  const std::string socket = " socket-path=" + (dir / "s");
  GstElement* sends =
      gst_parse_launch(("videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=8,height=8 ! "
                        "unixfdsink name=end" +
                        socket)
                           .c_str(),
                       nullptr);
  GstElement* gets =
      gst_parse_launch(("unixfdsrc" + socket + " ! fakesink name=end").c_str(), nullptr);
  probe(
      sends,
      [](GstPad*, GstPadProbeInfo* info, gpointer boxes) {
        auto* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
        gst_buffer_copy_into(buffer, GST_BUFFER(boxes), GST_BUFFER_COPY_META, 0, gsize(-1));
        GST_PAD_PROBE_INFO_DATA(info) = buffer;
        return GST_PAD_PROBE_OK;
      },
      frame.get());
  Arrived arrived;
  probe(
      gets,
      [](GstPad*, GstPadProbeInfo* info, gpointer to) {
        static_cast<Arrived*>(to)->take(GST_PAD_PROBE_INFO_BUFFER(info));
        return GST_PAD_PROBE_OK;
      },
      &arrived);
  gst_element_set_state(sends, GST_STATE_PLAYING);
  gst_element_set_state(gets, GST_STATE_PLAYING);
  const std::string got = arrived.wait();
  for (GstElement* each : {gets, sends}) {
    gst_element_set_state(each, GST_STATE_NULL);
    gst_object_unref(each);
  }
  EXPECT_EQ(got, text_of(frame.get()));
}

}  // namespace
}  // namespace keepbox
