// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish with a broker that stops, restarts, is slow or hangs.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/gst/publish/boxpublish.h"

namespace keepbox::test {
namespace {

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
  EXPECT_TRUE(warning.starts_with("The broker " + broker.address() + " cannot be reached: "))
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
    return publisher.message(GST_MESSAGE_WARNING).find("the oldest messages are dropped") !=
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
  EXPECT_LT(took, 15s) << "for 2000 frames; to wait for the broker takes for ever";
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

class MqttQos : public BoxPublish, public testing::WithParamInterface<const char*> {};

TEST_P(MqttQos, ArrivesThroughAnOutage) {
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

INSTANTIATE_TEST_SUITE_P(BoxPublish, MqttQos, testing::Values("0", "1", "2"));

}  // namespace
}  // namespace keepbox::test
