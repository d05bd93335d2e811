// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that sends messages, with a broker that follows a script.
#include "gst/publish/sender.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/fileerror.h"
#include "tests/gst/publish/mosquitto.h"
#include "tests/tempdir.h"

namespace keepbox::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Behaviour of a broker, and a record of the calls it got. Used by any thread.
struct Script {
  std::atomic<bool> reachable = true, answers = true, connected = true, confirms = true;
  std::atomic<int> closed = 0;

  void note_attempt() {
    const std::lock_guard lock(mutex);
    attempts.push_back(Clock::now());
  }
  void note_sent(uint64_t number) {
    const std::lock_guard lock(mutex);
    sent.push_back(number);
  }
  std::vector<Clock::time_point> all_attempts() {
    const std::lock_guard lock(mutex);
    return attempts;
  }
  std::vector<uint64_t> all_sent() {
    const std::lock_guard lock(mutex);
    return sent;
  }

  std::mutex mutex;
  std::vector<Clock::time_point> attempts;
  std::vector<uint64_t> sent;
};

class ScriptedBroker : public Broker {
 public:
  explicit ScriptedBroker(Script& script) : script_(script) {}

  Status open(const std::atomic<bool>&) override {
    script_.note_attempt();
    return script_.reachable ? Status() : file_error("nobody is there");
  }
  bool ready() const override { return ready_; }
  Status work(int wake, int) override {
    pollfd wanted{.fd = wake, .events = POLLIN, .revents = 0};
    poll(&wanted, 1, 2);
    ready_ = script_.answers && script_.connected;
    if (script_.confirms)
      std::ranges::move(std::exchange(given_, {}), std::back_inserter(delivered_));
    return script_.connected ? Status() : file_error("it hung up");
  }
  Status send(const Message&, uint64_t number) override {
    script_.note_sent(number);
    given_.push_back(number);
    return {};
  }
  std::vector<uint64_t> take_delivered() override { return std::exchange(delivered_, {}); }
  std::vector<uint64_t> take_back() override { return std::exchange(given_, {}); }
  void close(int) override { ready_ = false, ++script_.closed; }
  std::string name() const override { return "broker:1"; }

 private:
  Script& script_;
  bool ready_ = false;
  std::vector<uint64_t> given_, delivered_;
};

class SenderTest : public testing::Test {
 protected:
  void start(SenderSettings settings, std::optional<DiskQueue> disk = {}) {
    sender_.emplace(std::make_unique<ScriptedBroker>(script_), outbox_, std::move(disk), settings,
                    [this](const Error& error) {
                      const std::lock_guard lock(script_.mutex);
                      warnings_.push_back(error.message());
                    });
  }
  void push(int count) {
    for (int i = 0; i < count; ++i) outbox_.push({.topic = "t", .payload = "x"});
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(script_.mutex);
    return warnings_;
  }
  bool connects(uint64_t times) {
    return eventually(
        [&] { return sender_->state().connected && sender_->state().connections == times; });
  }

  Script script_;
  std::vector<std::string> warnings_;
  Outbox outbox_{{.messages = 100}};
  std::optional<Sender> sender_;
};

TEST_F(SenderTest, PausesLongerAfterEachFailure) {
  script_.reachable = false;
  start({.first_wait = 10ms, .longest_wait = 60s});
  ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() == 8; }));
  const auto at = script_.all_attempts();
  for (int i = 1; i < 8; ++i) EXPECT_GE(at[i] - at[i - 1], 10ms * (1 << (i - 1))) << i;
  EXPECT_EQ(sender_->state().last_error, "nobody is there");
  ASSERT_EQ(warnings().size(), 1u) << "one for the outage";
  EXPECT_TRUE(warnings()[0].contains("The broker broker:1 cannot be reached: nobody is there"));
  script_.reachable = true;
  ASSERT_TRUE(connects(1));
  EXPECT_EQ(sender_->state().last_error, "");
  script_.connected = false;
  const auto lost = Clock::now();
  ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() >= 10; }));
  EXPECT_LT(script_.all_attempts()[9] - lost, 1200ms) << "the pauses begin anew";
  EXPECT_EQ(sender_->state().last_error, "it hung up");
  script_.connected = true;
  EXPECT_TRUE(connects(2));
  EXPECT_EQ(warnings().size(), 2u);
}

TEST_F(SenderTest, PausesNoLongerThanTheLongest) {
  script_.reachable = false;
  start({.first_wait = 10ms, .longest_wait = 20ms});
  ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() == 10; }));
  EXPECT_LT(script_.all_attempts()[9] - script_.all_attempts()[0], 3s);
}

TEST_F(SenderTest, LeavesABrokerThatDoesNotAnswer) {
  script_.answers = false;
  start({.first_wait = 5ms, .longest_wait = 5ms, .answer_within = 50ms});
  ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() >= 3; }));
  EXPECT_GE(script_.all_attempts()[1] - script_.all_attempts()[0], 50ms);
  EXPECT_GE(script_.closed, 2);
  EXPECT_EQ(sender_->state().last_error, "no answer");
  script_.answers = true;
  EXPECT_TRUE(connects(1));
}

TEST_F(SenderTest, SendsAFewMessagesAhead) {
  constexpr size_t kAhead = 20;
  script_.confirms = false;
  push(50);
  start({.first_wait = 5ms, .longest_wait = 5ms});
  ASSERT_TRUE(eventually([&] { return script_.all_sent().size() >= kAhead; }));
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(script_.all_sent().size(), kAhead);
  script_.connected = false;  // with what was sent
  ASSERT_TRUE(eventually([&] { return !sender_->state().connected; }));
  script_.connected = script_.confirms = true;
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 50; }));
  EXPECT_EQ(outbox_.size(), 0u);
  const std::vector<uint64_t> sent = script_.all_sent();
  ASSERT_EQ(sent.size(), 50 + kAhead);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(sent[kAhead + i], i + 1);
}

TEST_F(SenderTest, WarnsOnceOfAFullQueue) {
  script_.reachable = false;
  start({.first_wait = 5ms, .longest_wait = 5ms});
  for (int i = 0; i < 3; ++i) {
    push(110);
    const size_t before = script_.all_attempts().size();
    ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() > before + 2; }));
  }
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(warnings(), [](const std::string& text) {
    return text.contains("the oldest messages are dropped");
  }));
}

TEST_F(SenderTest, LeavesOutMessagesWhoseFileIsGone) {
  const TempDir dir;
  script_.reachable = false;
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  ASSERT_TRUE(eventually([&] { return !outbox_.next_unstored(); }));
  std::filesystem::resize_file(dir / "queue/00000000000000000001.messages", 0);
  script_.reachable = true;
  EXPECT_TRUE(eventually([&] { return outbox_.size() == 0; }));
  ASSERT_GE(warnings().size(), 2u);
  EXPECT_TRUE(warnings().back().contains("A message is missing"));
  push(1);
  EXPECT_TRUE(eventually([&] { return sender_->state().published == 1; }));
}

TEST_F(SenderTest, StopsAtOnceIfMessagesAreOnDisk) {
  const TempDir dir;
  script_.reachable = false;
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  const auto started = Clock::now();
  sender_->stop(20s);
  EXPECT_LT(Clock::now() - started, 10s);
  EXPECT_EQ(outbox_.size(), 3u);
  EXPECT_EQ(DiskQueue::open(dir / "queue")->take_unsent().size(), 3u);
}

TEST_F(SenderTest, StopsOnceAllMessagesAreDelivered) {
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms});
  const auto started = Clock::now();
  sender_->stop(20s);
  EXPECT_LT(Clock::now() - started, 10s);
  EXPECT_EQ(outbox_.size(), 0u);
  EXPECT_EQ(sender_->state().published, 3u);
  EXPECT_EQ(script_.closed, 1);
}

TEST_F(SenderTest, StopsAfterTheTimeForMessagesThatAreNotConfirmed) {
  script_.confirms = false;
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms});
  ASSERT_TRUE(eventually([&] { return script_.all_sent().size() == 3; }));
  const auto started = Clock::now();
  sender_->stop(200ms);
  EXPECT_GE(Clock::now() - started, 200ms);
  EXPECT_FALSE(sender_->state().connected);
  EXPECT_EQ(outbox_.size(), 3u);
}

}  // namespace
}  // namespace keepbox::test
