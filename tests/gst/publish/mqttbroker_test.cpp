// SPDX-License-Identifier: LGPL-2.1-or-later
// The client of a broker ends its connection, whether the broker answers or not.
#include "gst/publish/mqttbroker.h"

#include <array>
#include <chrono>
#include <vector>

#include "tests/gst/publish/boxpublish.h"
#include "tests/gst/publish/listener.h"

namespace keepbox::test {
namespace {

std::unique_ptr<Broker> client_of(int port) {
  auto out = MqttBroker::make({.address = {.host = "127.0.0.1", .port = port}});
  EXPECT_TRUE(out);
  EXPECT_TRUE((*out)->open());
  return std::move(*out);
}

TEST_F(BoxPublish, EndsItsConnectionAtOnce) {
  Mosquitto broker;
  const auto client = client_of(broker.port());
  ASSERT_TRUE(eventually([&] { return client->work(-1, 10) && client->ready(); }));
  const auto started = std::chrono::steady_clock::now();
  client->close(10'000);
  EXPECT_LT(std::chrono::steady_clock::now() - started, 5s);
  EXPECT_FALSE(client->ready());
}

TEST(MqttClient, LeavesABrokerThatDoesNotAnswer) {
  const Listener broker(2);
  const auto client = client_of(broker.port());
  const Descriptor attempt = broker.accepted(), connection = broker.accepted();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(client->work(-1, 10));
  client->close(0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  setsockopt(connection.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 1000> bytes{};
  ssize_t got = 1;
  while (got > 0) got = recv(connection.number(), bytes.data(), bytes.size(), 0);
  EXPECT_EQ(got, 0) << "the end of the connection";
}

/// A host that does not answer takes its time, like a name server that does not.
TEST(MqttClient, IsLeftWhileItConnects) {
  for (const bool full : {true, false}) {  // otherwise the first connection is taken, but no other
    const Listener broker(0);
    std::vector<Descriptor> others;
    if (full) others = fill(broker);
    const auto started = std::chrono::steady_clock::now();
    {
      const auto client = client_of(broker.port());
      EXPECT_TRUE(client->work(-1, 300));
      EXPECT_FALSE(client->ready());
      client->close(1000);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, 1s);
  }
}

TEST_F(BoxPublish, RejectsAMessageButKeepsTheConnection) {
  Mosquitto broker;
  const auto client = client_of(broker.port());
  ASSERT_TRUE(eventually([&] { return client->work(-1, 10) && client->ready(); }));
  for (const std::string& topic : {std::string("a\xc2\x85"), std::string(65536, 'a')}) {
    const Status sent = client->send({.topic = topic, .payload = "x"}, 1);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind, ErrorKind::kInvalid);
  }
  const Status asked = client->ask_for_retained(std::string(65536, 'a'));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(client->ready());
  EXPECT_TRUE(client->send({.topic = "a", .payload = "x"}, 2));
  EXPECT_TRUE(eventually([&] {
    return client->work(-1, 10) && client->take_delivered() == std::vector<uint64_t>{2};
  }));
}

/// Returns the flags of a CONNECT packet, and accepts it.
int accept_client(const Descriptor& connection) {
  std::array<unsigned char, 200> bytes{};
  EXPECT_GT(recv(connection.number(), bytes.data(), bytes.size(), 0), 10);
  EXPECT_EQ(send(connection.number(), "\x20\x02\0\0", 4, 0), 4);
  return bytes[9];
}

/// The broker would take new messages for those of an earlier process with the same numbers.
TEST(MqttClient, BeginsWithACleanSession) {
  constexpr int kClean = 2, kWill = 4;
  const Listener broker(10);
  auto client = MqttBroker::make({.address = {.host = "127.0.0.1", .port = broker.port()},
                                  .client_id = "me",
                                  .qos = 2,
                                  .availability = "available"});
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->open());
  for (const bool cleans : {true, false}) {
    const Descriptor attempt = broker.accepted(), connection = broker.accepted();
    const int flags = accept_client(connection);
    EXPECT_EQ((flags & kClean) != 0, cleans);
    EXPECT_EQ((flags & kWill) != 0, !cleans);
    if (!cleans) continue;
    unsigned char byte = 0;
    EXPECT_EQ(recv(connection.number(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 0xe0) << "the end of the connection";
  }
}

/// libmosquitto keeps a message that it could not write, and sends it after the next connection.
TEST_F(BoxPublish, KeepsMessagesThatALostConnectionTakes) {
  Mosquitto broker;
  const auto client = client_of(broker.port());
  ASSERT_TRUE(eventually([&] { return client->work(-1, 10) && client->ready(); }));
  broker.kill();
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(eventually([&] {
    numbers.push_back(numbers.size() + 1);
    EXPECT_TRUE(client->send({.topic = "a", .payload = "x", .qos = 1}, numbers.back()));
    return !client->ready();
  }));
  EXPECT_EQ(client->take_back(), std::vector<uint64_t>{});
  EXPECT_EQ(client->reset(), numbers);
}

/// Messages that reset() returns are not sent again by libmosquitto.
TEST_F(BoxPublish, ForgetsMessagesWhenItIsReset) {
  Mosquitto broker;
  const auto client = client_of(broker.port());
  ASSERT_TRUE(eventually([&] { return client->work(-1, 10) && client->ready(); }));
  broker.freeze();
  EXPECT_TRUE(client->send({.topic = "a", .payload = "x"}, 7));
  broker.kill();
  EXPECT_TRUE(eventually([&] { return !client->work(-1, 10); }));
  EXPECT_EQ(client->take_back(), std::vector<uint64_t>{});
  EXPECT_EQ(client->reset(), std::vector<uint64_t>{7});
  EXPECT_EQ(client->reset(), std::vector<uint64_t>{});
}

}  // namespace
}  // namespace keepbox::test
