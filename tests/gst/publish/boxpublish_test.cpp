// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish with a real broker: what arrives, through outages and restarts.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

const char* const kBoxes = "keepbox/camera/boxes";

/// Returns the numbers of the frames, in the order in which they arrived.
std::vector<int> frames_in(const Subscriber& subscriber) {
  std::vector<int> out;
  for (const std::string& text : subscriber.payloads(kBoxes))
    out.push_back(json::parse(text)["frame"]);
  return out;
}

std::vector<int> numbers(int first, int end) {
  std::vector<int> out;
  for (int i = first; i < end; ++i) out.push_back(i);
  return out;
}

/// Removes numbers that arrived again: at least once is what qos=1 gives.
std::vector<int> without_repeats(const std::vector<int>& all) {
  std::vector<int> out;
  for (const int number : all)
    if (!std::ranges::contains(out, number)) out.push_back(number);
  return out;
}

bool has_arrived(const Subscriber& subscriber, int frames) {
  return eventually(
      [&] { return without_repeats(frames_in(subscriber)).size() >= static_cast<size_t>(frames); });
}

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
  publisher.start();
  g_autoptr(GstBuffer) frame = frame_of(0);
  ASSERT_EQ(gst_harness_push(publisher.harness(), gst_buffer_ref(frame)), GST_FLOW_OK);
  g_autoptr(GstBuffer) out = gst_harness_pull(publisher.harness());
  EXPECT_EQ(out, frame);
  publisher.set("stop-timeout", "0");
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
TEST(Killed, DISABLED_PublishesForEver) {
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
    execl("/proc/self/exe", "publish-test", "--gtest_filter=Killed.*",
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

TEST_F(BoxPublish, SurvivesARestartOfTheBroker) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.start();
  publisher.push(0, 50);
  ASSERT_TRUE(has_arrived(subscriber, 50));
  broker.stop();
  publisher.push(50, 200);
  ASSERT_TRUE(eventually([&] { return !publisher.connected(); }));
  EXPECT_EQ(publisher.stat("queued"), 200u);
  publisher.push(250, 50);
  std::this_thread::sleep_for(500ms);  // for some attempts
  broker.start();
  publisher.push(300, 50);
  ASSERT_TRUE(has_arrived(subscriber, 350));
  EXPECT_EQ(without_repeats(frames_in(subscriber)), numbers(0, 350)) << "all, in their order";
  EXPECT_TRUE(eventually([&] { return publisher.stat("queued") == 0; }));
  EXPECT_EQ(publisher.stat("published"), 350u);
  EXPECT_EQ(publisher.stat("dropped"), 0u);
  EXPECT_EQ(publisher.stat("connections"), 2u);
  const std::string warning = publisher.message(GST_MESSAGE_WARNING);
  EXPECT_TRUE(
      warning.starts_with("expected a connection to the broker " + broker.address() + ", found "))
      << warning;
  EXPECT_EQ(publisher.message(GST_MESSAGE_WARNING), "") << "one for the outage";
}

TEST_F(BoxPublish, KeepsTheNewestIfTheQueueIsFull) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  broker.stop();
  Publisher publisher(broker.address());
  publisher.set("queue-size", "100");
  publisher.start();
  publisher.push(0, 250);
  EXPECT_EQ(publisher.stat("queued"), 100u);
  EXPECT_EQ(publisher.stat("dropped"), 150u);
  broker.start();
  ASSERT_TRUE(has_arrived(subscriber, 100));
  publisher.push(250, 10);
  ASSERT_TRUE(has_arrived(subscriber, 110));
  EXPECT_EQ(without_repeats(frames_in(subscriber)), numbers(150, 260));
  EXPECT_TRUE(eventually([&] {
    return publisher.message(GST_MESSAGE_WARNING).find("the oldest ones are dropped") !=
           std::string::npos;
  }));
}

TEST_F(BoxPublish, DoesNotWaitForASlowBroker) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.start();
  publisher.push(0, 10);
  ASSERT_TRUE(has_arrived(subscriber, 10));
  broker.freeze();
  const auto started = std::chrono::steady_clock::now();
  publisher.push(10, 2000);
  const auto took = std::chrono::steady_clock::now() - started;
  std::this_thread::sleep_for(200ms);
  broker.thaw();
  EXPECT_LT(took, 2s) << "for 2000 frames";
  ASSERT_TRUE(has_arrived(subscriber, 2010));
  EXPECT_EQ(without_repeats(frames_in(subscriber)), numbers(0, 2010));
}

/// With qos=0, what the network took is lost with the connection, but no more than that.
TEST_F(BoxPublish, SendsAgainWhatWasNotWritten) {
  Mosquitto broker;
  Publisher publisher(broker.address());
  publisher.set("qos", "0");
  publisher.set("tags", R"({"filler":")" + std::string(100'000, 'x') + R"("})");
  publisher.start();
  publisher.push(0, 1);
  ASSERT_TRUE(eventually([&] { return publisher.stat("published") == 1; }));
  broker.freeze();
  publisher.push(1, 150);  // more than the buffers of a socket
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(publisher.stat("published"), 120u);
  broker.kill();
  broker.start();
  EXPECT_TRUE(eventually([&] { return publisher.stat("queued") == 0; }));
  EXPECT_EQ(publisher.stat("published"), 151u);
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
  EXPECT_TRUE(eventually([&] { return subscriber.payloads(kBoxes).size() >= 200; }));
  publisher.push(0, 10);
  EXPECT_TRUE(eventually([&] { return subscriber.payloads(kBoxes).size() >= 210; }));
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
  EXPECT_EQ(subscriber.payloads("keepbox/camera/counts/person"), std::vector<std::string>{"1"});
  EXPECT_TRUE(eventually([&] { return subscriber.payloads("keepbox/camera/tracks").size() == 2; }));
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
  EXPECT_NE(all.find("found 3 that are not: set queue-location= to keep them"), std::string::npos)
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
    EXPECT_GT(publisher.stat("queued"), 20u);
  }
}

TEST_F(BoxPublish, KeepsNumbersForLaterSubscribers) {
  Mosquitto broker;
  {
    Publisher publisher(broker.address());
    publisher.set("what", "counts");
    publisher.start();
    publisher.push(0, 5);
    publisher.stop();
    EXPECT_EQ(publisher.stat("published"), 2u);
  }
  Subscriber later(broker.port(), "keepbox/camera/counts/#");
  later.wait_for(2);
  EXPECT_EQ(later.payloads("keepbox/camera/counts/all"), std::vector<std::string>{"1"});
  ASSERT_FALSE(later.received().empty());
  EXPECT_TRUE(later.received()[0].retain);
}

class QualityOfService : public BoxPublish, public testing::WithParamInterface<const char*> {};

TEST_P(QualityOfService, ArrivesThroughAnOutage) {
  Mosquitto broker;
  Subscriber subscriber(broker.port());
  Publisher publisher(broker.address());
  publisher.set("qos", GetParam());
  publisher.set("client-id", "camera");
  publisher.start();
  publisher.push(0, 30);
  ASSERT_TRUE(has_arrived(subscriber, 30));
  broker.stop();
  ASSERT_TRUE(eventually([&] { return !publisher.connected(); }));
  publisher.push(30, 100);
  broker.start();
  ASSERT_TRUE(has_arrived(subscriber, 130));
  EXPECT_EQ(without_repeats(frames_in(subscriber)), numbers(0, 130));
  EXPECT_EQ(std::to_string(subscriber.received().back().qos), GetParam());
}

INSTANTIATE_TEST_SUITE_P(BoxPublish, QualityOfService, testing::Values("0", "1", "2"));

TEST_F(BoxPublish, RejectsSettings) {
  const auto error_of = [](const char* property, const std::string& value) {
    Publisher publisher("127.0.0.1");
    publisher.set(property, value);
    EXPECT_FALSE(publisher.can_start()) << value;
    return publisher.message(GST_MESSAGE_ERROR);
  };
  EXPECT_EQ(
      error_of("address", "http://x"),
      "expected the address of a broker, found \"http://x\": set address= to HOST, HOST:PORT, "
      "mqtt://HOST:PORT or mqtts://HOST:PORT");
  EXPECT_NE(error_of("topic-tracks", "a/#").find("topic-tracks="), std::string::npos);
  EXPECT_NE(error_of("what", "all").find("what="), std::string::npos);
  EXPECT_NE(error_of("password-file", "/missing").find("password-file="), std::string::npos);
  EXPECT_NE(error_of("queue-location", "/proc/x").find("queue-location="), std::string::npos);
}

}  // namespace
}  // namespace keepbox::test
