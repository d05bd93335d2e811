// SPDX-License-Identifier: LGPL-2.1-or-later
// The client of a broker ends its connection, whether the broker answers or not.
#include "gst/publish/mqttbroker.h"

#include <array>
#include <chrono>

#include "tests/gst/publish/boxpublish.h"
#include "tests/gst/publish/listener.h"

namespace keepbox::test {
namespace {

std::unique_ptr<Broker> client_of(int port) {
  auto out = MqttBroker::make({.address = {.host = "127.0.0.1", .port = port}});
  EXPECT_TRUE(out);
  const std::atomic<bool> stopping = false;
  EXPECT_TRUE((*out)->open(stopping));
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
  client->close(0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  setsockopt(connection.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 1000> bytes{};
  ssize_t got = 1;
  while (got > 0) got = recv(connection.number(), bytes.data(), bytes.size(), 0);
  EXPECT_EQ(got, 0) << "the end of the connection";
}

}  // namespace
}  // namespace keepbox::test
