// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue of messages, in memory and on disk.
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
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
  EXPECT_EQ(outbox.lowest(), 1u);
  outbox.give_back({3, 1, 2});
  EXPECT_EQ(taken(outbox), (Texts{"a", "c"})) << "without the confirmed one";
  outbox.done(1);
  outbox.done(3);
  EXPECT_EQ(outbox.size(), 0u);
  EXPECT_EQ(outbox.lowest(), 4u);
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

TEST(Outbox, RemembersWhatIsOnDisk) {
  Outbox outbox({}, 7);
  outbox.push_stored(7, {.file = 7, .offset = 0, .bytes = 9});
  outbox.push(message_of("b"));
  outbox.push(message_of("c"));
  auto item = outbox.next_unstored();
  ASSERT_TRUE(item);
  EXPECT_EQ(item->number, 8u);
  outbox.stored(8, {.file = 7, .offset = 9, .bytes = 9});
  item = outbox.next_unstored();
  ASSERT_TRUE(item);
  EXPECT_EQ(item->message.payload, "c");
  outbox.stored(9, {.file = 7, .offset = 18, .bytes = 9});
  EXPECT_FALSE(outbox.next_unstored());
  item = outbox.take();
  ASSERT_TRUE(item && item->place);
  EXPECT_EQ(item->place->offset, 0u);
  item = outbox.take();
  ASSERT_TRUE(item && item->place);
  EXPECT_EQ(item->message.payload, "") << "not in memory as well";
  EXPECT_TRUE(outbox.take());
  outbox.push(message_of("d"));
  ASSERT_TRUE(outbox.take());
  EXPECT_FALSE(outbox.next_unstored()) << "a broker has it";
}

size_t files_in(const std::string& folder) {
  size_t out = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out += entry.path().extension() == ".messages";
  return out;
}

/// Opens a queue and returns the payloads that are left in it.
Texts left_in(const std::string& folder) {
  auto queue = DiskQueue::open(folder);
  if (!queue) return {queue.error().message()};
  Texts out;
  for (const auto& [number, place] : queue->take_unsent())
    out.push_back(queue->read(place)->payload);
  return out;
}

TEST(DiskQueue, KeepsWhatWasNotSent) {
  const TempDir dir;
  const std::string folder = dir / "a/queue";
  {
    auto queue = DiskQueue::open(folder);
    ASSERT_TRUE(queue) << queue.error().message();
    EXPECT_EQ(queue->next_number(), 1u);
    const Message odd{.topic = "a/b", .payload = std::string("\0\n", 2), .qos = 2, .retain = true};
    for (uint64_t number = 1; number < 4; ++number) {
      const auto place = queue->append(number, odd);
      ASSERT_TRUE(place);
      EXPECT_EQ(*queue->read(*place), odd);
    }
    queue->forget_below(3);
  }
  auto queue = DiskQueue::open(folder);
  ASSERT_TRUE(queue);
  const auto left = queue->take_unsent();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].number, 3u);
  EXPECT_EQ(queue->next_number(), 4u);
  ASSERT_TRUE(queue->append(4, message_of("later")));
  queue->forget_below(4);
  queue = DiskQueue::open(dir / "other");
  EXPECT_EQ(left_in(folder), Texts{"later"});
}

TEST(DiskQueue, NumbersGoOnAfterAllIsSent) {
  const TempDir dir;
  {
    auto queue = DiskQueue::open(dir / "queue");
    for (uint64_t number = 1; number < 9; ++number)
      ASSERT_TRUE(queue->append(number, message_of("x")));
    queue->forget_below(9);
    EXPECT_EQ(files_in(dir / "queue"), 0u);
  }
  EXPECT_EQ(DiskQueue::open(dir / "queue")->next_number(), 9u);
}

TEST(DiskQueue, RemovesFilesThatAreSent) {
  const TempDir dir;
  auto queue = DiskQueue::open(dir / "queue");
  const Message large = message_of(std::string(DiskQueue::kFileBytes / 2, 'x'));
  for (uint64_t number = 1; number <= 6; ++number) ASSERT_TRUE(queue->append(number, large));
  EXPECT_EQ(files_in(dir / "queue"), 3u);
  queue->forget_below(3);
  EXPECT_EQ(files_in(dir / "queue"), 2u);
  queue->forget_below(7);
  EXPECT_EQ(files_in(dir / "queue"), 0u);
  const auto place = queue->append(7, message_of("next"));
  ASSERT_TRUE(place);
  EXPECT_EQ(queue->read(*place)->payload, "next");
}

TEST(DiskQueue, LeavesOutWhatACrashLeftIncomplete) {
  const TempDir dir;
  std::string file;
  for (const int cut : {1, 5, 40}) {
    const std::string folder = dir / ("queue" + std::to_string(cut));
    {
      auto queue = DiskQueue::open(folder);
      for (uint64_t number = 1; number < 4; ++number)
        ASSERT_TRUE(queue->append(number, message_of("message " + std::to_string(number))));
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".messages") file = entry.path();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - cut);
    EXPECT_EQ(left_in(folder), (Texts{"message 1", "message 2"})) << cut;
  }
  std::fstream(file, std::ios::in | std::ios::out).seekp(36).put('X');
  EXPECT_EQ(left_in(dir / "queue40"), Texts{}) << "a wrong checksum";
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

TEST(DiskQueue, NoticesThatAFileIsGone) {
  const TempDir dir;
  auto queue = DiskQueue::open(dir / "queue");
  const auto place = queue->append(1, message_of("x"));
  for (const auto& entry : std::filesystem::directory_iterator(dir / "queue"))
    if (entry.path().extension() == ".messages") std::filesystem::remove(entry.path());
  EXPECT_FALSE(queue->read(*place));
}

}  // namespace
}  // namespace keepbox::test
