// SPDX-License-Identifier: LGPL-2.1-or-later
// Retained messages have the state of now: after restarts, outages, skipped frames, new streams.
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gst/metas/skippedmodels.h"
#include "tests/gst/publish/boxpublish.h"
#include "tests/gst/publish/listener.h"

namespace keepbox::test {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr const char* kPerson = "keepbox/camera/counts/person";
constexpr const char* kCamera = "keepbox/camera/camera";

bool arrives(const Subscriber& subscriber, const std::string& topic, const Texts& payloads) {
  return eventually([&] { return subscriber.payloads(topic) == payloads; });
}

/// True if the last message of a topic becomes that one.
bool becomes(const Subscriber& subscriber, const std::string& topic, const std::string& payload) {
  return eventually([&] {
    const Texts all = subscriber.payloads(topic);
    return !all.empty() && all.back() == payload;
  });
}

void push(Publisher& publisher, GstBuffer* buffer) {
  ASSERT_EQ(gst_harness_push(publisher.harness(), buffer), GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(publisher.harness()));
}

GstBuffer* empty_frame(guint index) {
  GstBuffer* out = gst_buffer_new();
  GST_BUFFER_PTS(out) = index * 40 * GST_MSECOND;
  return out;
}

GstBuffer* skipped_frame(guint index) {
  GstBuffer* out = empty_frame(index);
  note_skipped_model(out, 0);
  return out;
}

TEST_F(BoxPublish, KeepsNumbersOnSkippedFrames) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "counts,boxes");
  publisher.start();
  push(publisher, skipped_frame(0));
  for (guint i = 1; i < 13; i += 3) {
    push(publisher, frame_of(i));
    for (guint skipped : {1, 2}) push(publisher, skipped_frame(i + skipped));
  }
  push(publisher, empty_frame(13));
  EXPECT_TRUE(arrives(subscriber, kPerson, {"1", "0"}));
  ASSERT_TRUE(has_arrived(subscriber, 14));
  const Texts boxes = subscriber.payloads(kBoxesTopic);
  for (size_t i = 0; i < boxes.size(); ++i)
    EXPECT_EQ(json::parse(boxes[i]).contains("skipped"), i % 3 != 1 && i != 13) << boxes[i];
}

TEST_F(BoxPublish, SetsNumbersOfAnEarlierRunTo0) {
  Mosquitto broker;
  publish_retained(broker.port(), "keepbox/camera/counts/car", "19");
  publish_retained(broker.port(), kPerson, "44");
  publish_retained(broker.port(), "keepbox/other/counts/car", "5");
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "counts");
  publisher.start();
  ASSERT_TRUE(eventually([&] { return publisher.connected(); }));
  publisher.push(0, 1);
  EXPECT_TRUE(becomes(subscriber, "keepbox/camera/counts/car", "0"));
  EXPECT_TRUE(becomes(subscriber, kPerson, "1"));
  EXPECT_EQ(subscriber.payloads("keepbox/other/counts/car"), Texts{"5"});
}

TEST_F(BoxPublish, TellsABrokerThatForgotEverything) {
  Mosquitto broker;
  Publisher publisher(broker.address());
  publisher.set("what", "counts");
  publisher.start();
  publisher.push(0, 1);
  ASSERT_TRUE(eventually([&] { return publisher.stat("published") == 2; }));
  broker.kill();  // without saving
  broker.start();
  Subscriber later(broker.port());
  EXPECT_TRUE(becomes(later, kPerson, "1"));
  EXPECT_TRUE(becomes(later, "keepbox/camera/available", "online"));
  EXPECT_TRUE(becomes(later, kCamera, "online"));
}

TEST_F(BoxPublish, KeepsTheLastNumbersInAFullQueue) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  broker.stop();
  Publisher publisher(broker.address());
  publisher.set("what", "counts,boxes");
  publisher.set("queue-size", "10");
  publisher.start();
  publisher.push(0, 3);
  for (guint i = 3; i < 100; ++i) push(publisher, empty_frame(i));
  broker.start();
  EXPECT_TRUE(becomes(subscriber, kPerson, "0"));
}

TEST_F(BoxPublish, EndsTracksOfAnotherStream) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "tracks");
  publisher.start();
  publisher.push(0, 3, 1);
  gst_harness_push_event(publisher.harness(), gst_event_new_stream_start("another"));
  publisher.push(3, 3, 1);
  gst_harness_push_event(publisher.harness(), gst_event_new_flush_start());
  gst_harness_push_event(publisher.harness(), gst_event_new_flush_stop(FALSE));
  EXPECT_TRUE(eventually([&] { return subscriber.payloads("keepbox/camera/tracks").size() == 4; }));
  Texts types;
  for (const std::string& text : subscriber.payloads("keepbox/camera/tracks"))
    types.push_back(json::parse(text)["type"]);
  EXPECT_EQ(types, (Texts{"new", "end", "new", "end"}));
}

/// The caps have 25 frames per second.
TEST_F(BoxPublish, CountsFramesWithoutTimestamps) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "boxes,tracks");
  publisher.set("rate", "5");
  publisher.set("track-timeout", "0.5");
  publisher.start();
  for (guint i = 0; i < 50; ++i) {
    GstBuffer* buffer = frame_of(i, i < 10 ? 7 : 8);
    GST_BUFFER_PTS(buffer) = GST_CLOCK_TIME_NONE;
    push(publisher, buffer);
  }
  EXPECT_TRUE(eventually([&] { return frames_in(subscriber).size() == 10; }));
  EXPECT_TRUE(eventually([&] { return subscriber.payloads("keepbox/camera/tracks").size() == 3; }));
}

TEST_F(BoxPublish, TellsWhetherFramesArrive) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("camera-timeout", "0.5");
  publisher.start();
  EXPECT_TRUE(becomes(subscriber, kCamera, "stalled")) << "there was none";
  publisher.push(0, 1);
  EXPECT_TRUE(becomes(subscriber, kCamera, "online"));
  EXPECT_TRUE(becomes(subscriber, kCamera, "stalled"));
  publisher.push(1, 1);
  EXPECT_TRUE(becomes(subscriber, kCamera, "online"));
  publisher.end();
  EXPECT_TRUE(becomes(subscriber, kCamera, "offline"));
  publisher.stop();
  EXPECT_TRUE(becomes(subscriber, "keepbox/camera/available", "offline"));
  const Texts all = subscriber.payloads(kCamera);
  EXPECT_EQ(all, (Texts{"offline", "stalled", "online", "stalled", "online", "offline"}));
}

TEST_F(BoxPublish, SendsBytesThatMqttForbidsAsUnderscores) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("source", "a\u0085b\ufffe");
  publisher.set("what", "counts");
  publisher.start();
  publisher.push(0, 1);
  EXPECT_TRUE(becomes(subscriber, "keepbox/a_b_/counts/person", "1"));
}

/// A host takes the first connection, which only tries it, but not the second.
TEST_F(BoxPublish, StopsWhileItConnects) {
  const Listener broker(0);
  Publisher publisher("127.0.0.1:" + std::to_string(broker.port()));
  publisher.set("stop-timeout", "0.2");
  publisher.start();
  publisher.push(0, 3);
  std::this_thread::sleep_for(300ms);
  const auto started = std::chrono::steady_clock::now();
  publisher.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 1s);
  EXPECT_EQ(publisher.stat("dropped"), 3u);
}

}  // namespace
}  // namespace keepbox::test
