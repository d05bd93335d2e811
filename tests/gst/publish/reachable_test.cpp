// SPDX-License-Identifier: LGPL-2.1-or-later
// Servers that can be reached, that do not answer, and that do not exist.
#include "gst/publish/mqttclient.h"

#include <thread>

#include "tests/gst/publish/listener.h"

namespace keepbox::test {
namespace {

using namespace std::chrono_literals;

TEST(Reachable, IsAnAddressThatAccepts) {
  const Listener server(2);
  const std::atomic<bool> stopping = false;
  const auto found = reachable_address("localhost", server.port(), 5s, stopping);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, "127.0.0.1");
}

TEST(Reachable, IsNoServerThatDoesNotAnswer) {
  const Listener server(0);
  const auto others = fill(server);
  std::atomic<bool> stopping = false;
  const auto found = reachable_address("127.0.0.1", server.port(), 300ms, stopping);
  EXPECT_FALSE(found);
  const std::jthread stops([&] {
    std::this_thread::sleep_for(150ms);
    stopping = true;
  });
  const auto stopped = reachable_address("127.0.0.1", server.port(), 60s, stopping);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
}

TEST(Reachable, IsNoNameThatDoesNotExist) {
  const std::atomic<bool> stopping = false;
  EXPECT_FALSE(reachable_address("no.such.host.invalid", 1, 1s, stopping));
}

}  // namespace
}  // namespace keepbox::test
