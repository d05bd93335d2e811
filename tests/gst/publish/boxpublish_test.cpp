// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish with a real broker: what arrives, and what stays at a stop.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/gst/publish/boxpublish.h"

namespace keepbox::test {
namespace {

using nlohmann::json;

TEST_F(BoxPublish, SendsWhatBoxsinkWrites) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  const std::string file = broker.folder() / "boxes.jsonl";
  const std::string same = R"( source=front tags="{\"site\":3}" )";
  const std::string line = "appsrc name=in caps=" + std::string(kCaps) + " format=time" +
                           " ! boxpublish address=" + broker.address() + same +
                           " ! boxsink location=" + file + same;
  g_autoptr(GError) error = nullptr;
  g_autoptr(GstElement) pipeline = gst_parse_launch(line.c_str(), &error);
  ASSERT_EQ(error, nullptr) << error->message;
  g_autoptr(GstElement) in = gst_bin_get_by_name(GST_BIN(pipeline), "in");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 50; ++i) {
    GstBuffer* buffer = i % 3 == 0 ? gst_buffer_new() : frame_of(i, 7);
    GstFlowReturn flow = GST_FLOW_OK;
    g_signal_emit_by_name(in, "push-buffer", buffer, &flow);
    gst_buffer_unref(buffer);
  }
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(in, "end-of-stream", &flow);
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  gst_message_unref(gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_EOS));
  gst_element_set_state(pipeline, GST_STATE_NULL);
  EXPECT_TRUE(eventually([&] { return subscriber.payloads("keepbox/front/boxes").size() >= 50; }));
  std::string text;
  for (const std::string& payload : subscriber.payloads("keepbox/front/boxes"))
    text += payload + '\n';
  std::ifstream written(file);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(written), {}));
  EXPECT_NE(text.find("\"detection\""), std::string::npos);
}

TEST_F(BoxPublish, PassesBuffersOnUnchanged) {
  Publisher publisher("127.0.0.1:1");
  publisher.set("stop-timeout", "0");
  publisher.start();
  g_autoptr(GstBuffer) frame = frame_of(0);
  ASSERT_EQ(gst_harness_push(publisher.harness(), gst_buffer_ref(frame)), GST_FLOW_OK);
  g_autoptr(GstBuffer) out = gst_harness_pull(publisher.harness());
  EXPECT_EQ(out, frame);
}

TEST_F(BoxPublish, TellsWhetherItIsThere) {
  Mosquitto broker;
  Subscriber subscriber(broker.port(), "keepbox/+/available");
  {
    Publisher publisher(broker.address());
    publisher.start();
    ASSERT_EQ(subscriber.wait_for(1).size(), 1u);
    EXPECT_EQ(subscriber.received()[0].topic, "keepbox/camera/available");
    EXPECT_EQ(subscriber.received()[0].payload, "online");
  }
  ASSERT_EQ(subscriber.wait_for(2).size(), 2u);
  EXPECT_EQ(subscriber.received()[1].payload, "offline");
}

/// The process of LeavesAWill that is killed.
TEST(KilledPublisher, DISABLED_PublishesForEver) {
  Publisher publisher(std::getenv("KEEPBOX_TEST_BROKER"));
  publisher.start();
  while (true) pause();
}

TEST_F(BoxPublish, LeavesAWill) {
  Mosquitto broker;
  Subscriber subscriber(broker.port(), "keepbox/+/available");
  const std::string address = broker.address();
  const pid_t child = fork();
  if (child == 0) {
    setenv("KEEPBOX_TEST_BROKER", address.c_str(), 1);
    execl("/proc/self/exe", "publish-test", "--gtest_filter=KilledPublisher.*",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(127);
  }
  EXPECT_EQ(subscriber.wait_for(1).size(), 1u);
  kill(child, SIGKILL);
  EXPECT_EQ(subscriber.wait_for(2).size(), 2u);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(subscriber.payloads("keepbox/camera/available"),
            (std::vector<std::string>{"online", "offline"}));
}

TEST_F(BoxPublish, KeepsMessagesOnDiskForTheNextStart) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  broker.stop();
  const std::string folder = broker.folder() / "queue";
  for (int part = 0; part < 2; ++part) {
    Publisher publisher(broker.address());
    publisher.set("queue-location", folder);
    publisher.start();
    publisher.push(0, 100);
    publisher.stop();
    EXPECT_EQ(publisher.stat("queued"), 100u * (part + 1));
    for (std::string text; !(text = publisher.message(GST_MESSAGE_WARNING)).empty();)
      EXPECT_EQ(text.find("before the stop"), std::string::npos) << "they are kept";
  }
  broker.start();
  Publisher publisher(broker.address());
  publisher.set("queue-location", folder);
  publisher.start();
  EXPECT_TRUE(eventually([&] { return subscriber.payloads(kBoxesTopic).size() >= 200; }));
  publisher.push(0, 10);
  EXPECT_TRUE(eventually([&] { return subscriber.payloads(kBoxesTopic).size() >= 210; }));
  std::vector<int> expected = numbers(0, 100);
  for (const int end : {100, 10}) std::ranges::copy(numbers(0, end), std::back_inserter(expected));
  EXPECT_EQ(frames_in(subscriber), expected);
}

TEST_F(BoxPublish, WaitsForMessagesAtTheStop) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("what", "boxes,counts,tracks");
  publisher.start();
  publisher.push(0, 500, 7);
  publisher.stop();
  EXPECT_EQ(publisher.stat("queued"), 0u);
  ASSERT_TRUE(has_arrived(subscriber, 500));
  EXPECT_TRUE(eventually([&] { return subscriber.payloads("keepbox/camera/tracks").size() == 2; }));
  const std::vector<std::string> numbers = {"1", "0"};
  EXPECT_TRUE(
      eventually([&] { return subscriber.payloads("keepbox/camera/counts/person") == numbers; }));
  EXPECT_EQ(json::parse(subscriber.payloads("keepbox/camera/tracks")[1])["type"], "end");
}

TEST_F(BoxPublish, WarnsOfMessagesThatAreLostAtTheStop) {
  Publisher publisher("127.0.0.1:1");
  publisher.set("stop-timeout", "0.1");
  publisher.start();
  publisher.push(0, 3);
  publisher.stop();
  std::string all;
  for (std::string text; !(text = publisher.message(GST_MESSAGE_WARNING)).empty();) all += text;
  EXPECT_NE(all.find("3 messages were not delivered before the stop. Set queue-location="),
            std::string::npos)
      << all;
}

TEST_F(BoxPublish, StopsNextToABrokerThatHangs) {
  for (const char* qos : {"0", "1"}) {
    Mosquitto broker;
    Publisher publisher(broker.address());
    publisher.set("qos", qos);
    publisher.set("stop-timeout", "0.1");
    publisher.set("tags", R"({"filler":")" + std::string(100'000, 'x') + R"("})");
    publisher.start();
    ASSERT_TRUE(eventually([&] { return publisher.connected(); }));
    broker.freeze();
    publisher.push(0, 150);
    const auto started = std::chrono::steady_clock::now();
    publisher.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - started, 4s);
    EXPECT_GT(publisher.stat("dropped"), 20u);
    EXPECT_EQ(publisher.stat("queued"), 0u);
  }
}

TEST_F(BoxPublish, KeepsNumbersForLaterSubscribers) {
  Mosquitto broker;
  {
    Publisher publisher(broker.address());
    publisher.set("what", "counts");
    publisher.start();
    publisher.push(0, 5);
    EXPECT_TRUE(eventually([&] { return publisher.stat("published") == 2; }));
    Subscriber later(broker.port(), "keepbox/camera/counts/#");
    later.wait_for(2);
    EXPECT_EQ(later.payloads("keepbox/camera/counts/all"), std::vector<std::string>{"1"});
    ASSERT_FALSE(later.received().empty());
    EXPECT_TRUE(later.received()[0].retain);
  }
  Subscriber last(broker.port(), "keepbox/camera/counts/#");
  EXPECT_TRUE(eventually([&] {
    const auto numbers = last.payloads("keepbox/camera/counts/person");
    return !numbers.empty() && numbers.back() == "0";
  }));
}

TEST_F(BoxPublish, RejectsSettings) {
  const auto error_of = [](const char* property, const std::string& value) {
    Publisher publisher("127.0.0.1");
    publisher.set(property, value);
    EXPECT_FALSE(publisher.can_start()) << value;
    return publisher.message(GST_MESSAGE_ERROR);
  };
  EXPECT_EQ(error_of("address", "http://x"),
            "address=http://x is not the address of a broker. Set address= to HOST, HOST:PORT, "
            "mqtt://HOST:PORT or mqtts://HOST:PORT.");
  EXPECT_NE(error_of("topic-tracks", "a/#").find("topic-tracks="), std::string::npos);
  EXPECT_NE(error_of("what", "all").find("what="), std::string::npos);
  EXPECT_NE(error_of("password-file", "/missing").find("password-file="), std::string::npos);
  EXPECT_NE(error_of("queue-location", "/proc/x").find("queue-location="), std::string::npos);
}

}  // namespace
}  // namespace keepbox::test
