// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that sends messages, with a broker that follows a script.
#include "gst/publish/sender.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/infile.h"
#include "tests/gst/publish/mosquitto.h"
#include "tests/tempdir.h"

namespace keepbox::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Behaviour of a broker, and a record of the calls it got. Used by any thread.
struct Script {
  std::atomic<bool> reachable = true, answers = true, connected = true, confirms = true;
  std::atomic<bool> confirms_at_end = false, ended = false;
  std::atomic<int> closed = 0;
  std::atomic<bool> answers_questions = true, refuses_questions = false;
  std::atomic<bool> forbids_questions = false;
  std::atomic<int> questions = 0, ends_of_questions = 0;
  std::string poison, forbidden;  // payloads that end connections, or cannot be sent
  std::vector<Message> retained;  // on the broker at the start

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
  void note_text(const std::string& topic, const std::string& text) {
    const std::lock_guard lock(mutex);
    texts.push_back(topic + ' ' + text);
  }
  std::vector<std::string> all_texts() {
    const std::lock_guard lock(mutex);
    return texts;
  }

  std::mutex mutex;
  std::vector<Clock::time_point> attempts;
  std::vector<uint64_t> sent;
  std::vector<std::string> texts;  // topics and payloads of messages and states
};

class ScriptedBroker : public Broker {
 public:
  explicit ScriptedBroker(Script& script) : script_(script) {}
  ~ScriptedBroker() override { script_.ended = true; }

  Status open() override {
    script_.note_attempt();
    poisoned_ = false;
    return script_.reachable ? Status() : file_error("nobody is there");
  }
  bool ready() const override { return ready_; }
  Status work(int wake, int) override {
    pollfd wanted{.fd = wake, .events = POLLIN, .revents = 0};
    poll(&wanted, 1, 2);
    if (poisoned_) return file_error("it hung up");
    ready_ = script_.answers && script_.connected;
    if (script_.confirms)
      std::ranges::move(std::exchange(given_, {}), std::back_inserter(delivered_));
    return script_.connected ? Status() : file_error("it hung up");
  }
  Status send(const Message& message, uint64_t number) override {
    script_.note_sent(number);
    if (message.payload == script_.forbidden) return reject(ErrorKind::kInvalid, "it is odd");
    script_.note_text(message.topic, message.payload);
    poisoned_ |= message.payload == script_.poison;
    given_.push_back(number);
    return {};
  }
  Result<std::vector<uint64_t>> reset() override { return take_back(); }
  void publish_state(const std::string& topic, const std::string& state) override {
    script_.note_text(topic, state);
  }
  Status ask_for_retained(const std::string&) override {
    ++script_.questions;
    if (script_.forbids_questions) return reject(ErrorKind::kInvalid, "it is odd");
    return {};
  }
  RetainedAnswer retained_answer() const override {
    return script_.refuses_questions                                 ? RetainedAnswer::kRefused
           : script_.answers_questions && !script_.forbids_questions ? RetainedAnswer::kGranted
                                                                     : RetainedAnswer::kNone;
  }
  std::vector<Message> take_retained() override { return std::exchange(script_.retained, {}); }
  void end_retained(const std::string&) override { ++script_.ends_of_questions; }
  std::vector<uint64_t> take_delivered() override { return std::exchange(delivered_, {}); }
  std::vector<uint64_t> take_back() override { return std::exchange(given_, {}); }
  void close(int) override {
    ready_ = false, ++script_.closed;
    if (script_.confirms_at_end)
      std::ranges::move(std::exchange(given_, {}), std::back_inserter(delivered_));
  }
  std::string name() const override { return "broker:1"; }

 private:
  Script& script_;
  bool ready_ = false, poisoned_ = false;
  std::vector<uint64_t> given_, delivered_;
};

class SenderTest : public testing::Test {
 protected:
  void start(SenderSettings settings, std::optional<DiskQueue> disk = {},
             std::optional<StaleCounts> stale = {}) {
    sender_.emplace(std::make_unique<ScriptedBroker>(script_), outbox_, std::move(disk),
                    std::move(stale), settings, [this](const Error& error) {
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
  EXPECT_EQ(warnings().size(), 1u);
  push(1);
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 1; }));
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

/// The pauses go on growing while connections end before a message is confirmed.
TEST_F(SenderTest, PausesLongerIfNothingIsConfirmed) {
  script_.confirms = false;
  push(1);
  start({.first_wait = 10ms, .longest_wait = 60s});
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(connects(i));
    script_.connected = false;
    ASSERT_TRUE(eventually([&] { return !sender_->state().connected; }));
    script_.connected = true;
  }
  ASSERT_TRUE(connects(4));
  const auto at = script_.all_attempts();
  for (int i = 1; i < 4; ++i) EXPECT_GE(at[i] - at[i - 1], 10ms * (1 << (i - 1))) << i;
  EXPECT_EQ(warnings().size(), 1u) << "one for the outage";
}

TEST_F(SenderTest, DropsAMessageThatCannotBeSent) {
  script_.forbidden = "odd";
  for (const char* text : {"a", "odd", "b", "odd", "c"})
    outbox_.push({.topic = "t/" + std::string(text), .payload = text});
  start({.first_wait = 5ms, .longest_wait = 5ms});
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 3; }));
  EXPECT_EQ(outbox_.dropped(), 2u);
  EXPECT_EQ(outbox_.size(), 0u);
  EXPECT_EQ(sender_->state().connections, 1u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_TRUE(warnings()[0].starts_with("A message to the topic \"t/odd\" is dropped: it is odd"))
      << warnings()[0];
}

TEST_F(SenderTest, DropsAMessageThatEndsEachConnection) {
  script_.poison = "bad";
  for (const char* text : {"a", "bad", "b", "c"})
    outbox_.push({.topic = "t/" + std::string(text), .payload = text});
  start({.first_wait = 5ms, .longest_wait = 1s});
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 3; }));
  EXPECT_EQ(outbox_.dropped(), 1u);
  EXPECT_LE(sender_->state().connections, 8u) << "four with each of the first two";
  EXPECT_EQ(script_.all_texts().back(), "t/c c");
  EXPECT_TRUE(warnings().back().contains("\"t/bad\" is dropped: each connection was lost with it"))
      << warnings().back();
}

TEST_F(SenderTest, RepeatsRetainedMessagesAfterEachConnection) {
  start({.first_wait = 5ms, .longest_wait = 5ms});
  for (const char* text : {"1", "2"}) outbox_.push({.topic = "n", .payload = text, .retain = true});
  push(1);
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 3; }));
  script_.connected = false;
  ASSERT_TRUE(eventually([&] { return !sender_->state().connected; }));
  script_.connected = true;
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 4; }));
  EXPECT_EQ(script_.all_texts().back(), "n 2");
}

TEST_F(SenderTest, PublishesTheNewestNumbersFirstAfterAnOutage) {
  script_.reachable = false;
  start({.first_wait = 5ms, .longest_wait = 5ms});
  for (const char* text : {"1", "2", "3"}) {
    outbox_.push({.topic = "event", .payload = text, .retain = true});
    outbox_.push({.topic = "number", .payload = text, .retain = true, .state = true});
  }
  ASSERT_TRUE(eventually([&] { return script_.all_attempts().size() > 1; }));
  script_.reachable = true;
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 4; }));
  EXPECT_EQ(script_.all_texts(),
            (std::vector<std::string>{"number 3", "event 1", "event 2", "event 3"}));
}

TEST_F(SenderTest, DropsAMessageThatEndsEachConnectionThoughNumbersGoFirst) {
  script_.poison = "bad";
  for (const char* text : {"a", "bad", "b"})
    outbox_.push({.topic = "t/" + std::string(text), .payload = text});
  outbox_.push({.topic = "number", .payload = "1", .retain = true, .state = true});
  start({.first_wait = 5ms, .longest_wait = 1s});
  ASSERT_TRUE(eventually([&] { return outbox_.size() == 0; }));
  EXPECT_EQ(outbox_.dropped(), 1u);
  EXPECT_TRUE(warnings().back().contains("\"t/bad\" is dropped")) << warnings().back();
  EXPECT_EQ(script_.all_texts().back(), "t/b b");
}

TEST_F(SenderTest, PublishesTheStateOfTheCamera) {
  start({.first_wait = 5ms, .longest_wait = 5ms, .camera_topic = "c", .camera_timeout = 300ms});
  const auto says = [&](const std::string& state) {
    return eventually([&] {
      const auto all = script_.all_texts();
      return !all.empty() && all.back() == "c " + state;
    });
  };
  EXPECT_TRUE(says("offline"));
  sender_->camera().frame();
  EXPECT_TRUE(says("online"));
  EXPECT_TRUE(says("stalled")) << "while nothing happens";
  sender_->camera().frame();
  EXPECT_TRUE(says("online"));
  script_.connected = false;
  ASSERT_TRUE(eventually([&] { return !sender_->state().connected; }));
  const size_t before = script_.all_texts().size();
  sender_->camera().frame();
  script_.connected = true;
  ASSERT_TRUE(connects(2));
  EXPECT_TRUE(eventually([&] { return script_.all_texts().size() > before; })) << "again";
  sender_->camera().end();
  EXPECT_TRUE(says("offline"));
  sender_->camera().frame();
  EXPECT_TRUE(says("online"));
  sender_->stop(0ms);
  EXPECT_TRUE(says("offline"));
}

class StaleCountsTest : public SenderTest {
 protected:
  void start() {
    StaleCounts stale(*TopicPattern::parse("{source}/{class}", "t"), "s", 1);
    stale.add("s/queued");
    stale.add("other");
    SenderTest::start({.first_wait = 5ms, .longest_wait = 5ms, .camera_timeout = timeout_}, {},
                      std::move(stale));
  }
  std::chrono::milliseconds timeout_ = 60s;
};

TEST_F(StaleCountsTest, AreSetTo0OnceNumbersAreKnown) {
  script_.retained = {{.topic = "s/old", .payload = "3"},
                      {.topic = "s/now", .payload = "4"},
                      {.topic = "s/zero", .payload = "0"},
                      {.topic = "s/a/b", .payload = "5"},
                      {.topic = "t/old", .payload = "6"}};
  start();
  ASSERT_TRUE(connects(1));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(script_.all_texts(), std::vector<std::string>{});
  outbox_.push({.topic = "s/now", .payload = "1", .retain = true, .state = true});
  sender_->counts_known();
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 3; }));
  EXPECT_EQ(script_.all_texts(), (std::vector<std::string>{"s/now 1", "s/old 0", "s/queued 0"}));
  EXPECT_EQ(script_.questions, 1);
  EXPECT_TRUE(eventually([&] { return script_.ends_of_questions == 1; }));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(StaleCountsTest, AreSetTo0WithoutACamera) {
  timeout_ = 50ms;
  script_.retained = {{.topic = "s/old", .payload = "3"}};
  start();
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 2; }));
}

TEST_F(StaleCountsTest, StayIfTheBrokerRefuses) {
  script_.refuses_questions = true;
  start();
  ASSERT_TRUE(eventually([&] { return warnings().size() == 1; }));
  EXPECT_TRUE(warnings()[0].starts_with("A subscription to \"s/+\" is refused")) << warnings()[0];
  push(1);
  ASSERT_TRUE(eventually([&] { return sender_->state().published == 1; }));
}

TEST_F(StaleCountsTest, StayIfNobodyCanAskForThem) {
  script_.forbids_questions = true;
  start();
  ASSERT_TRUE(eventually([&] { return warnings().size() == 1; }));
  EXPECT_TRUE(warnings()[0].contains("is refused")) << warnings()[0];
  EXPECT_EQ(script_.questions, 1);
  EXPECT_EQ(sender_->state().connections, 1u);
}

/// Some brokers end the connection instead of an answer.
TEST_F(StaleCountsTest, AreNotAskedForAgainAndAgain) {
  script_.answers_questions = false;
  start();
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(connects(i));
    script_.connected = false;
    ASSERT_TRUE(eventually([&] { return !sender_->state().connected; }));
    script_.connected = true;
  }
  EXPECT_EQ(script_.questions, 2);
  EXPECT_TRUE(std::ranges::any_of(
      warnings(), [](const std::string& text) { return text.contains("A subscription"); }));
}

TEST_F(SenderTest, LeavesOutMessagesThatAreGone) {
  const TempDir dir;
  script_.reachable = false;
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  ASSERT_TRUE(eventually([&] { return outbox_.unstored().empty(); }));
  outbox_.push_stored(99, 1, "", false);
  script_.reachable = true;
  EXPECT_TRUE(eventually([&] { return outbox_.size() == 0; }));
  EXPECT_EQ(outbox_.dropped(), 1u);
  EXPECT_TRUE(warnings().back().contains("A message is missing"));
  push(1);
  EXPECT_TRUE(eventually([&] { return sender_->state().published == 4; }));
}

/// Without room on the disk, messages are sent from memory, and those that are left are lost.
TEST_F(SenderTest, GoesOnWithoutTheDisk) {
  const TempDir dir;
  script_.reachable = false;
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  push(1);
  ASSERT_TRUE(eventually([&] { return outbox_.unstored().empty(); }));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  push(5);
  const auto warned = [&] {
    return std::ranges::any_of(warnings(),
                               [](const std::string& text) { return text.contains("queue.db: "); });
  };
  EXPECT_TRUE(eventually(warned));
  script_.reachable = true;
  EXPECT_TRUE(eventually([&] { return sender_->state().published == 6; }));
  script_.confirms = false;
  push(2);
  sender_->stop(100ms);
  EXPECT_EQ(outbox_.drop_unstored(), 2u);
  EXPECT_EQ(outbox_.dropped(), 2u);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

/// Makes reads and writes of the process's open files of that name fail, until it is destroyed.
class BrokenFiles {
 public:
  explicit BrokenFiles(const std::string& name) {
    const Descriptor nothing(open("/dev/null", O_PATH | O_CLOEXEC));
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (!std::filesystem::read_symlink(entry, gone).string().contains(name)) continue;
      const int number = std::stoi(entry.path().filename());
      files_.emplace_back(number, Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 0)));
    }
    for (const auto& [number, file] : files_) dup3(nothing.number(), number, O_CLOEXEC);
  }
  BrokenFiles(const BrokenFiles&) = delete;
  BrokenFiles& operator=(const BrokenFiles&) = delete;
  ~BrokenFiles() {
    for (const auto& [number, file] : files_) dup3(file.number(), number, O_CLOEXEC);
  }
  size_t count() const { return files_.size(); }

 private:
  std::vector<std::pair<int, Descriptor>> files_;
};

/// A message that cannot be read is not lost.
TEST_F(SenderTest, ReadsAgainAfterAnErrorOfTheDisk) {
  const TempDir dir;
  script_.reachable = false;
  outbox_.push({.topic = "t", .payload = std::string(8 << 20, 'x')});  // more than SQLite caches
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  ASSERT_TRUE(eventually([&] { return outbox_.unstored().empty(); }));
  const auto count = [&](const std::string& words) {
    return std::ranges::count_if(warnings(),
                                 [&](const std::string& text) { return text.contains(words); });
  };
  {
    const BrokenFiles broken("queue.db");
    ASSERT_NE(broken.count(), 0u);
    script_.reachable = true;
    ASSERT_TRUE(eventually([&] { return count("queue.db: ") != 0; }));
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(eventually([&] { return sender_->state().published == 1; }));
  EXPECT_EQ(outbox_.dropped(), 0u);
  EXPECT_EQ(count("queue.db: "), 1);
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
  EXPECT_EQ(DiskQueue::open(dir / "queue")->unsent()->size(), 3u);
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

/// An attempt to connect that still runs gives up once its broker has ended.
TEST_F(SenderTest, EndsItsBrokerWhenItStops) {
  start({.first_wait = 5ms, .longest_wait = 5ms});
  ASSERT_TRUE(connects(1));
  EXPECT_FALSE(script_.ended);
  sender_->stop(20s);
  EXPECT_TRUE(script_.ended);
}

TEST_F(SenderTest, CountsWhatIsConfirmedWhileTheConnectionEnds) {
  const TempDir dir;
  script_.confirms = false;
  script_.confirms_at_end = true;
  push(3);
  start({.first_wait = 5ms, .longest_wait = 5ms}, *DiskQueue::open(dir / "queue"));
  ASSERT_TRUE(eventually([&] { return script_.all_sent().size() == 3; }));
  sender_->stop(50ms);
  EXPECT_EQ(outbox_.size(), 0u);
  EXPECT_EQ(sender_->state().published, 3u);
  EXPECT_EQ(DiskQueue::open(dir / "queue")->unsent()->size(), 0u) << "they are not sent again";
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
