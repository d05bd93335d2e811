// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of lines and zones, and events, as messages.
#include "gst/publish/countstates.h"

#include <string>
#include <vector>

#include "gst/publish/messages.h"
#include "tests/gst/publish/boxpublish.h"
#include "tests/gst/publish/listener.h"

namespace keepbox::test {
namespace {

using Texts = std::vector<std::string>;

PresentObject person(uint64_t id, GstClockTime dwell = 0) {
  return {.object = {0, id}, .label = g_quark_from_string("person"), .dwell = dwell};
}

FrameCounts counts_with(std::vector<PresentObject> present, ByDirection crossed = {}) {
  const auto visits = static_cast<guint64>(present.size());
  return {.lines = {{.name = "gate", .points = {}, .crossed = crossed}},
          .zones = {{.name = "queue", .present = std::move(present), .visits = visits}},
          .notes = {}};
}

PublishProps counted_props(const char* what = "lines,zones") {
  PublishProps props;
  props.source = "front";
  props.what = what;
  return props;
}

/// A stream of frames with counts.
class CountedFrames {
 public:
  explicit CountedFrames(const PublishProps& props)
      : source_(props.source), messages_(*publish_settings(props, "boxpublish0"), props) {}

  Texts add(const FrameCounts* counts, bool skipped = false) {
    FrameInfo info{.number = number_, .timestamp = time(), .size = {10, 10}, .source = source_};
    info.skipped = skipped, info.counts = counts;
    EXPECT_TRUE(messages_.add({info, {}, {}, time()}, out_));
    ++number_;
    return take();
  }
  Texts add(const FrameCounts& counts) { return add(&counts); }
  Texts end(const FrameCounts& counts) {
    messages_.add_events(counts, out_);
    return take();
  }
  Texts finish() {
    messages_.finish(out_);
    return take();
  }
  std::vector<Message> last;

 private:
  uint64_t time() const { return static_cast<uint64_t>(number_) * 100 * GST_MSECOND; }
  Texts take() {
    Texts texts;
    for (const Message& each : out_) texts.push_back(each.topic + ' ' + each.payload);
    last = std::exchange(out_, {});
    return texts;
  }

  std::string source_;
  Messages messages_;
  std::vector<Message> out_;
  int64_t number_ = 0;
};

TEST(CountStates, ArePublishedWhenTheyChange) {
  CountedFrames frames(counted_props());
  const Texts first{R"(keepbox/front/lines/gate {"in":0,"out":0})",
                    R"(keepbox/front/zones/queue {"now":0,"visits":0,"mean":0.0,"max":0.0})",
                    "keepbox/front/zones/queue/all 0"};
  EXPECT_EQ(frames.add(counts_with({})), first);
  for (const Message& message : frames.last) EXPECT_TRUE(message.retain && message.state);
  EXPECT_EQ(frames.add(counts_with({})), Texts{});
  EXPECT_EQ(frames.add(counts_with({}, {1, 0})),
            Texts{R"(keepbox/front/lines/gate {"in":1,"out":0})"});
  const Texts one{R"(keepbox/front/zones/queue {"now":1,"visits":1,"mean":0.0,"max":0.0,)"
                  R"("present":[{"id":7,"seconds":0.0}]})",
                  "keepbox/front/zones/queue/all 1", "keepbox/front/zones/queue/person 1"};
  EXPECT_EQ(frames.add(counts_with({person(7)}, {1, 0})), one);
  EXPECT_EQ(frames.add(counts_with({person(7, GST_SECOND)}, {1, 0})), Texts{})
      << "only time has passed";
  EXPECT_EQ(frames.add(counts_with({person(8, GST_SECOND)}, {1, 0})).size(), 1u)
      << "another object";
  EXPECT_EQ(frames.add(nullptr, true), Texts{}) << "a frame without counts";
}

TEST(CountStates, NobodyIsInZonesAfterTheEnd) {
  CountedFrames frames(counted_props());
  FrameCounts counts = counts_with({person(7)}, {3, 2});
  counts.zones[0].crowded = true;
  frames.add(counts);
  const Texts end{R"(keepbox/front/zones/queue {"now":0,"visits":1,"mean":0.0,"max":0.0})",
                  "keepbox/front/zones/queue/all 0", "keepbox/front/zones/queue/person 0"};
  EXPECT_EQ(frames.finish(), end);
  EXPECT_EQ(frames.finish(), Texts{});
}

TEST(CountStates, WaitForTheRate) {
  PublishProps props = counted_props("lines");
  props.rate = 5;
  CountedFrames frames(props);
  EXPECT_EQ(frames.add(counts_with({})).size(), 1u);
  EXPECT_EQ(frames.add(counts_with({}, {1, 0})), Texts{});
  EXPECT_EQ(frames.add(counts_with({}, {2, 0})),
            Texts{R"(keepbox/front/lines/gate {"in":2,"out":0})"});
  EXPECT_EQ(frames.add(counts_with({}, {2, 1})), Texts{});
  EXPECT_EQ(frames.finish(), Texts{R"(keepbox/front/lines/gate {"in":2,"out":1})"})
      << "the last one is published";
}

TEST(CountStates, EveryFrameWithoutOnChange) {
  PublishProps props = counted_props("lines");
  props.on_change = "", props.retain = "";
  CountedFrames frames(props);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(frames.add(counts_with({})).size(), 1u);
  EXPECT_FALSE(frames.last[0].retain || frames.last[0].state);
}

FrameCounts noted() {
  using enum CountNote::Kind;
  FrameCounts out;
  const GQuark label = g_quark_from_string("person");
  out.notes = {
      {.kind = kCrossed, .name = "gate", .direction = "in", .object = {0, 7}, .label = label},
      {.kind = kEntered, .name = "queue", .object = {0, 7}, .label = label, .now = 1},
      {.kind = kCrowded, .name = "queue", .now = 5}};
  return out;
}

TEST(CountStates, EventsAreNotRetained) {
  CountedFrames frames(counted_props());
  const Texts all{R"(keepbox/front/events {"source":"front","timestamp":0,"event":"crossed",)"
                  R"("name":"gate","direction":"in","id":7,"label":"person"})",
                  R"(keepbox/front/events {"source":"front","timestamp":0,"event":"entered",)"
                  R"("name":"queue","id":7,"label":"person","now":1})",
                  R"(keepbox/front/events {"source":"front","timestamp":0,"event":"crowded",)"
                  R"("name":"queue","now":5})"};
  EXPECT_EQ(frames.add(noted()), all);
  for (const Message& message : frames.last) EXPECT_FALSE(message.retain || message.state);
  EXPECT_EQ(frames.end(noted()).size(), 3u) << "at the end of the stream";
}

TEST(CountStates, KindsAreChosen) {
  EXPECT_EQ(CountedFrames(counted_props("lines")).add(noted()).size(), 1u);
  EXPECT_EQ(CountedFrames(counted_props("zones")).add(noted()).size(), 2u);
  EXPECT_EQ(CountedFrames(counted_props("counts")).add(noted()),
            Texts{"keepbox/front/counts/all 0"});
  PublishProps props = counted_props("lines");
  props.topic_events = "a/{name}/{id}/{class}";
  EXPECT_TRUE(CountedFrames(props).add(noted())[0].starts_with("a/gate/7/person {"));
}

TEST(CountStates, NamesThatGiveOneTopicAreOneLine) {
  CountedFrames frames(counted_props("lines"));
  FrameCounts counts = counts_with({});
  counts.lines = {{.name = "a/b", .points = {}, .crossed = {1, 0}}, {.name = "a_b", .points = {}}};
  EXPECT_EQ(frames.add(counts), Texts{R"(keepbox/front/lines/a_b {"in":1,"out":0})"});
  EXPECT_EQ(frames.add(counts), Texts{});
}

TEST_F(BoxPublish, PublishesCountsOfLinesAndZones) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "lines,zones");
  publisher.start();
  GstBuffer* buffer = frame_of(0);
  FrameCounts counts = counts_with({person(7)}, {1, 0});
  counts.notes = noted().notes;
  attach_counts(buffer, counts);
  ASSERT_EQ(gst_harness_push(publisher.harness(), buffer), GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(publisher.harness()));
  gst_harness_push_event(publisher.harness(), counts_event(noted()));
  publisher.end();
  const auto payloads = [&](const char* topic) { return subscriber.payloads(topic); };
  EXPECT_TRUE(
      eventually([&] { return payloads("keepbox/camera/zones/queue/person") == Texts{"1", "0"}; }));
  EXPECT_TRUE(eventually([&] { return payloads("keepbox/camera/events").size() == 6; }));
  EXPECT_EQ(payloads("keepbox/camera/lines/gate"), Texts{R"({"in":1,"out":0})"});
}

}  // namespace
}  // namespace keepbox::test
