// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue of messages, in memory and on disk.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "gst/publish/diskqueue.h"
#include "gst/publish/outbox.h"
#include "tests/tempdir.h"

namespace keepbox::test {
namespace {

Message message_of(const std::string& text) { return {.topic = "t", .payload = text}; }

/// Takes all messages that were not given to a broker.
std::vector<std::string> taken(Outbox& outbox) {
  std::vector<std::string> out;
  while (const auto item = outbox.take()) out.push_back(item->message.payload);
  return out;
}

using Texts = std::vector<std::string>;

TEST(Outbox, KeepsTheOrder) {
  Outbox outbox({.messages = 10});
  for (const char* text : {"a", "b", "c"}) outbox.push(message_of(text));
  EXPECT_EQ(outbox.size(), 3u);
  EXPECT_EQ(taken(outbox), (Texts{"a", "b", "c"}));
  EXPECT_EQ(outbox.size(), 3u) << "until they are confirmed";
  outbox.done(2);
  EXPECT_EQ(outbox.size(), 2u);
  EXPECT_EQ(outbox.note_loss().number, 1u);
  outbox.give_back({3, 1, 2});
  EXPECT_EQ(taken(outbox), (Texts{"a", "c"})) << "without the confirmed one";
  outbox.done(1);
  outbox.done(3);
  EXPECT_EQ(outbox.size(), 0u);
  EXPECT_EQ(outbox.note_loss().times, 0);
}

TEST(Outbox, DropsTheOldestThatWasNotGiven) {
  Outbox outbox({.messages = 2});
  outbox.push(message_of("given"));
  ASSERT_TRUE(outbox.take());
  for (const char* text : {"a", "b", "c", "d"}) outbox.push(message_of(text));
  EXPECT_EQ(outbox.dropped(), 2u);
  outbox.give_back({1});
  EXPECT_EQ(taken(outbox), (Texts{"given", "c", "d"}));
}

TEST(Outbox, HasALimitOfBytes) {
  Outbox outbox({.messages = 100, .bytes = 10});
  outbox.push(message_of(std::string(50, 'x')));
  EXPECT_EQ(outbox.dropped(), 0u) << "a single message fits always";
  for (const char* text : {"aaa", "bbb", "ccc"}) outbox.push(message_of(text));
  EXPECT_EQ(outbox.dropped(), 2u);
  EXPECT_EQ(taken(outbox), (Texts{"bbb", "ccc"}));
}

/// Messages that were handed to a broker do not count until they are given back.
TEST(Outbox, LimitsWhatWaits) {
  for (const OutboxLimits limits : {OutboxLimits{.messages = 2}, {.messages = 9, .bytes = 10}}) {
    Outbox outbox(limits);
    outbox.push(message_of("aaa"));
    ASSERT_TRUE(outbox.take());
    for (const char* text : {"bbb", "ccc"}) outbox.push(message_of(text));
    EXPECT_EQ(outbox.dropped(), 0u);
    outbox.give_back({1});
    outbox.push(message_of("ddd"));
    EXPECT_EQ(outbox.dropped(), 2u);
    EXPECT_EQ(taken(outbox), (Texts{"ccc", "ddd"}));
  }
}

TEST(Outbox, WakesItsReader) {
  Outbox outbox({});
  pollfd wake{.fd = outbox.wake(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wake, 1, 0), 0);
  outbox.push(message_of("a"));
  outbox.push(message_of("b"));
  EXPECT_EQ(poll(&wake, 1, 0), 1);
  outbox.clear_wake();
  EXPECT_EQ(poll(&wake, 1, 0), 0);
}

Message state_of(const std::string& topic, const std::string& text) {
  return {.topic = topic, .payload = text, .retain = true};
}

TEST(Outbox, KeepsTheLastMessageOfARetainedTopic) {
  Outbox outbox({.messages = 4});
  for (const char* text : {"1", "2"}) outbox.push(state_of("a", text));
  outbox.push(state_of("b", "3"));
  for (const char* text : {"x", "y", "z"}) outbox.push(message_of(text));
  EXPECT_EQ(outbox.dropped(), 2u);
  EXPECT_TRUE(outbox.overflowed());
  EXPECT_EQ(taken(outbox), (Texts{"2", "3", "y", "z"}));
}

TEST(Outbox, RepeatsRetainedMessagesThatDidNotFit) {
  Outbox outbox({.messages = 2});
  for (const char* topic : {"a", "b", "c", "d", "e"}) outbox.push(state_of(topic, topic));
  Texts all;
  for (auto item = outbox.take(); item && all.size() < 20; item = outbox.take()) {
    all.push_back(item->message.payload);
    outbox.done(item->number);
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, (Texts{"a", "b", "c", "d", "e"})) << "each once";
}

TEST(Outbox, RepeatsWhatABrokerMayHaveForgotten) {
  Outbox outbox({});
  outbox.push(state_of("a", "1"));
  outbox.push(state_of("b", "2"));
  outbox.push(message_of("x"));
  EXPECT_EQ(taken(outbox).size(), 3u);
  for (const uint64_t number : {1, 2, 3}) outbox.done(number);
  outbox.push(state_of("b", "3"));
  outbox.repeat_retained();
  EXPECT_EQ(taken(outbox), (Texts{"3", "1"})) << "b is on its way";
  outbox.push_if_new(state_of("a", "0"));
  outbox.push_if_new(state_of("c", "0"));
  EXPECT_EQ(taken(outbox), Texts{"0"});
  outbox.repeat_retained();
  EXPECT_EQ(taken(outbox), Texts{}) << "all are on their way";
}

TEST(Outbox, HasALimitOfRetainedTopics) {
  Outbox outbox({.messages = 2 * Outbox::kMaxTopics});
  for (size_t i = 0; i <= Outbox::kMaxTopics; ++i) outbox.push(state_of(std::to_string(i), "x"));
  EXPECT_EQ(taken(outbox).size(), Outbox::kMaxTopics + 1);
  for (size_t i = 0; i <= Outbox::kMaxTopics; ++i) outbox.done(i + 1);
  outbox.repeat_retained();
  EXPECT_EQ(outbox.size(), Outbox::kMaxTopics);
  EXPECT_EQ(outbox.take()->message.topic, "1") << "without the oldest one";
}

Message number_of(const std::string& topic, const std::string& text) {
  return {.topic = topic, .payload = text, .retain = true, .state = true};
}

TEST(Outbox, GivesStatesFirst) {
  Outbox outbox({});
  outbox.push(message_of("x"));
  outbox.push(number_of("a", "1"));
  outbox.push(message_of("y"));
  outbox.push(number_of("a", "2"));
  EXPECT_EQ(outbox.take(3)->message.payload, "y") << "it is preferred";
  EXPECT_EQ(taken(outbox), (Texts{"1", "2", "x"}));
  outbox.done(3);
  outbox.give_back({1, 2, 4});
  EXPECT_EQ(taken(outbox), (Texts{"1", "2", "x"}));
}

TEST(Outbox, CountsTheConnectionsThatWereLost) {
  Outbox outbox({});
  outbox.push(message_of("x"));
  EXPECT_EQ(outbox.note_loss().times, 0) << "it was not sent";
  outbox.push(number_of("a", "1"));
  EXPECT_EQ(taken(outbox), (Texts{"1", "x"}));
  EXPECT_EQ(outbox.note_loss().number, 2u) << "it was sent first";
  outbox.done(2);
  EXPECT_EQ(outbox.note_loss().times, 2);
  outbox.give_back({1});
  outbox.repeat_retained();
  EXPECT_EQ(taken(outbox), (Texts{"1", "x"}));
  const Outbox::Loss loss = outbox.note_loss();
  EXPECT_EQ(loss.number, 1u) << "the other one is a new one";
  EXPECT_EQ(loss.times, 3);
  outbox.forget_losses();
  EXPECT_EQ(outbox.note_loss().times, 1);
}

TEST(Outbox, DropsStatesThatNewerOnesReplace) {
  Outbox outbox({});
  outbox.push_stored(7, 1, "a", true);
  outbox.push(number_of("a", "1"));
  ASSERT_EQ(outbox.take()->number, 7u);
  for (const char* text : {"2", "3"}) {
    outbox.push(number_of("a", text));
    outbox.push(number_of("b", text));
    outbox.push(state_of("event", text));
  }
  outbox.stored(outbox.unstored());
  outbox.drop_replaced();
  EXPECT_EQ(outbox.take_gone(), (std::vector<uint64_t>{8, 9, 10}));
  EXPECT_EQ(outbox.size(), 5u) << "with the one that was given";
  EXPECT_EQ(outbox.dropped(), 0u);
  std::vector<uint64_t> numbers;
  while (const auto item = outbox.take()) numbers.push_back(item->number);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{12, 13, 11, 14})) << "events are not replaced";
}

TEST(Outbox, DropsWhatCannotBeSent) {
  Outbox outbox({});
  outbox.push(state_of("a", "1"));
  outbox.push(message_of("2"));
  EXPECT_EQ(taken(outbox).size(), 2u);
  outbox.drop(1);
  outbox.drop(7);
  EXPECT_EQ(outbox.dropped(), 1u);
  EXPECT_EQ(outbox.size(), 1u);
  outbox.repeat_retained();
  EXPECT_EQ(outbox.size(), 1u) << "it is not repeated either";
  EXPECT_FALSE(outbox.overflowed());
}

TEST(Outbox, RemembersWhatIsOnDisk) {
  Outbox outbox({.messages = 3});
  outbox.push_stored(7, 9, "", false);
  outbox.push(message_of("b"));
  outbox.push(message_of("c"));
  auto items = outbox.unstored();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].number, 8u);
  EXPECT_EQ(items[1].message.payload, "c");
  outbox.stored(items);
  EXPECT_TRUE(outbox.unstored().empty());
  const auto item = outbox.take();
  ASSERT_TRUE(item && item->stored);
  EXPECT_EQ(item->message.payload, "") << "not in memory as well";
  outbox.done(7);
  EXPECT_EQ(outbox.take_gone(), std::vector<uint64_t>{7});
  for (const char* text : {"d", "e"}) outbox.push(message_of(text));
  EXPECT_EQ(outbox.take_gone(), std::vector<uint64_t>{8}) << "dropped";
  ASSERT_TRUE(outbox.take());
  EXPECT_EQ(outbox.unstored().size(), 2u);
  ASSERT_TRUE(outbox.take());
  EXPECT_EQ(outbox.unstored().size(), 2u) << "until it is confirmed";
  items = outbox.unstored();
  outbox.done(items[0].number);
  outbox.stored(items);
  EXPECT_EQ(outbox.take_gone(), std::vector<uint64_t>{10}) << "confirmed meanwhile";
  outbox.push(message_of("f"));
  EXPECT_EQ(outbox.drop_unstored(), 1u);
  EXPECT_EQ(outbox.size(), 2u);
  EXPECT_EQ(outbox.dropped(), 2u);
}

Outbox::Item item_of(uint64_t number, const std::string& text) {
  return {.number = number, .message = message_of(text)};
}

/// Opens a queue and returns the payloads that are left in it, or an error.
Texts left_in(const std::string& folder) {
  auto queue = DiskQueue::open(folder);
  if (!queue) return {queue.error().message()};
  Texts out;
  const auto left = queue->unsent();
  for (const auto& [number, bytes, topic] : *left) {
    const auto message = queue->read(number);
    out.push_back(message ? message->payload : message.error().message());
  }
  if (const auto warning = queue->take_warning()) out.push_back(warning->message());
  return out;
}

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(DiskQueue, KeepsWhatWasNotSent) {
  const TempDir dir;
  const std::string folder = dir / "a/queue";
  const Message odd{.topic = "a/é", .payload = std::string("\0\n", 2), .qos = 2, .retain = true};
  {
    auto queue = DiskQueue::open(folder);
    ASSERT_TRUE(queue) << queue.error().message();
    EXPECT_TRUE(queue->unsent()->empty());
    const std::vector<Outbox::Item> items = {
        item_of(1, "x"), {.number = 2, .message = odd}, item_of(3, "")};
    ASSERT_TRUE(queue->write(items, {}));
    EXPECT_EQ(*queue->read(2), odd);
    EXPECT_EQ(queue->read(3)->payload, "");
    const uint64_t gone[] = {1, 3, 99};
    ASSERT_TRUE(queue->write({}, gone));
    EXPECT_EQ(queue->read(1).error().kind, ErrorKind::kTruncated);
    EXPECT_EQ(mode_of(folder), 0700u);
    for (const char* file : {"queue.db", "queue.db-wal"})
      EXPECT_EQ(mode_of(folder + '/' + file), 0600u) << file;
  }
  auto queue = DiskQueue::open(folder);
  ASSERT_TRUE(queue);
  const auto left = queue->unsent();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ((*left)[0].number, 2u);
  EXPECT_EQ((*left)[0].bytes, odd.bytes());
  EXPECT_EQ((*left)[0].retained_topic, "a/é");
}

TEST(DiskQueue, WritesAllOrNothing) {
  const TempDir dir;
  auto queue = DiskQueue::open(dir / "queue");
  const std::vector<Outbox::Item> items = {item_of(1, "a"), item_of(2, "b"), item_of(1, "again")};
  EXPECT_FALSE(queue->write(items, {}));
  EXPECT_TRUE(queue->unsent()->empty());
  ASSERT_TRUE(queue->write(std::span(items).first(2), {}));
  EXPECT_EQ(queue->unsent()->size(), 2u);
}

TEST(DiskQueue, IsForOneUser) {
  const TempDir dir;
  const auto queue = DiskQueue::open(dir / "queue");
  EXPECT_EQ(left_in(dir / "queue"), Texts{"Another element uses the folder " + (dir / "queue") +
                                          ". Set a different queue-location= for each element."});
  dir.write("file", "");
  EXPECT_EQ(left_in(dir / "file/queue"),
            Texts{"Cannot write to the folder " + (dir / "file/queue") +
                  ": Not a directory. Set queue-location= to another folder."});
}

TEST(DiskQueue, IsInAFolderOfThisUser) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "open");
  chmod((dir / "open").c_str(), 0777);
  EXPECT_TRUE(left_in(dir / "open").front().contains("can be written to by other users. Chmod"));
  std::filesystem::create_directory(dir / "real");
  std::filesystem::create_directory_symlink("real", dir / "link");
  EXPECT_TRUE(left_in(dir / "link").front().contains("is a symbolic link"));
  std::filesystem::create_directory(dir / "real/queue");
  EXPECT_EQ(left_in(dir / "link/queue"), Texts{}) << "links on the way are no harm";
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  std::filesystem::create_directory(dir / "other");
  ASSERT_EQ(chown((dir / "other").c_str(), 12345, 12345), 0);
  EXPECT_TRUE(left_in(dir / "other").front().contains("belongs to another user"));
}

TEST(DiskQueue, HasRegularFiles) {
  const TempDir dir;
  for (const std::string suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string folder = dir / ("queue" + suffix), file = folder + "/queue.db" + suffix;
    std::filesystem::create_directory(folder);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_TRUE(left_in(folder).front().contains("is a FIFO, not a regular file")) << file;
    std::filesystem::remove(file);
    dir.write("victim", "precious");
    std::filesystem::create_symlink(dir / "victim", file);
    EXPECT_TRUE(left_in(folder).front().contains("is a symbolic link")) << file;
    EXPECT_EQ(std::filesystem::file_size(dir / "victim"), 8u);
  }
}

TEST(DiskQueue, NamesAFileThatIsDamaged) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "other");
  dir.write("other/queue.db", std::string(10'000, 'x'));
  {
    auto queue = DiskQueue::open(dir / "queue");
    for (uint64_t number = 1; number < 100; ++number) {
      const Outbox::Item items[] = {item_of(number, std::string(1000, 'x'))};
      ASSERT_TRUE(queue->write(items, {}));
    }
  }
  std::fstream file(dir / "queue/queue.db", std::ios::in | std::ios::out);
  file.seekp(20'480).write(std::string(4096, 'x').data(), 4096);
  file.close();
  for (const std::string folder : {"other", "queue"}) {
    const Texts error = left_in(dir / folder);
    ASSERT_EQ(error.size(), 1u);
    EXPECT_TRUE(error[0].starts_with("The queue " + (dir / folder) + "/queue.db is damaged: "))
        << error[0];
    EXPECT_TRUE(error[0].contains("Move the file away")) << error[0];
  }
}

/// A record of the former format.
std::string record(uint64_t number, const Message& message) {
  const auto bytes_of = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  const std::string text = message.topic + message.payload;
  std::string out = "kbq1" + bytes_of(message.topic.size(), 4) +
                    bytes_of(message.payload.size(), 4) +
                    bytes_of(message.qos + (message.retain ? 256 : 0), 4) + bytes_of(number, 8);
  uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : out + text) sum = (sum ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return out + bytes_of(sum, 8) + text;
}

class OldFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(dir_ / "queue");
    dir_.write("queue/lock", "");
    sent("00000000000000000002\n");
    write(1, record(1, message_of("1")) + record(2, message_of("2")));
    write(3, record(3, message_of("3")));
  }
  void write(int number, const std::string& text) {
    dir_.write(std::format("queue/{:020}.messages", number), text);
  }
  void sent(const char* text) { dir_.write("queue/sent", text); }
  Texts left() const { return left_in(dir_ / "queue"); }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "queue"))
      out.push_back(entry.path().filename());
    return out;
  }

  TempDir dir_;
};

TEST_F(OldFiles, AreTakenOver) {
  const Message odd{.topic = "a", .payload = std::string("\0", 1), .qos = 2, .retain = true};
  write(4, record(4, odd));
  {
    auto queue = DiskQueue::open(dir_ / "queue");
    ASSERT_TRUE(queue);
    EXPECT_FALSE(queue->take_warning());
    const auto left = *queue->unsent();
    ASSERT_EQ(left.size(), 3u);
    const auto first = queue->read(left[0].number);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->payload, "2");
    EXPECT_EQ(*queue->read(left[2].number), odd);
  }
  EXPECT_EQ(files(), std::vector<std::string>{"queue.db"});
  EXPECT_EQ(left().size(), 3u) << "once";
}

TEST_F(OldFiles, MayEndInAnIncompleteRecord) {
  const std::string whole = record(4, message_of("4"));
  for (const size_t cut : {size_t{1}, size_t{5}, whole.size() - 3}) {
    const std::string folder = dir_ / ("cut" + std::to_string(cut));
    std::filesystem::copy(dir_ / "queue", folder);
    dir_.write("cut" + std::to_string(cut) + "/00000000000000000004.messages",
               whole.substr(0, whole.size() - cut));
    EXPECT_EQ(left_in(folder), (Texts{"2", "3"})) << cut;
  }
}

TEST_F(OldFiles, AreLeftIfTheyAreDamaged) {
  std::string text = record(4, message_of("4")) + record(5, message_of("5"));
  text[text.size() - 1] ^= 1;
  write(4, text);
  const Texts out = left();
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[2], "4");
  EXPECT_TRUE(out[3].contains("00000000000000000004.messages is damaged")) << out[3];
  EXPECT_EQ(left().size(), 3u) << "it is not taken over again";
}

TEST_F(OldFiles, AreRegularFiles) {
  ASSERT_EQ(mkfifo((dir_ / "queue/00000000000000000000.messages").c_str(), 0600), 0);
  EXPECT_EQ(left().size(), 3u) << "with a warning";
}

TEST_F(OldFiles, MayHaveANumberThatIsWrong) {
  sent("18446744073709551615\n");
  write(60, "");
  write(900, record(3, message_of("3")));
  EXPECT_EQ(left(), (Texts{"1", "2", "3"}));
}

}  // namespace
}  // namespace keepbox::test
