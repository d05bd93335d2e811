// SPDX-License-Identifier: LGPL-2.1-or-later
// Messages on their way from the stream to the broker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/infile.h"

namespace keepbox {

// A message for a broker.

struct Message {
  std::string topic;
  std::string payload;
  int qos = 1;          // 0: at most once, 1: at least once, 2: once
  bool retain = false;  // the broker keeps it for later subscribers
  bool state = false;   // only the newest one of its topic is true

  size_t bytes() const { return topic.size() + payload.size(); }
  friend bool operator==(const Message&, const Message&) = default;
};

struct OutboxLimits {
  size_t messages = 10000;
  uint64_t bytes = uint64_t{64} << 20;
};

/// A bounded queue in the order of numbers; states go first. If it is full, it drops the oldest
/// message that was not sent yet, but the last one of a retained topic after all others. From any
/// thread; waits for nothing but its own lock.
class Outbox {
 public:
  static constexpr size_t kMaxTopics = 10000;  // whose last message is known

  explicit Outbox(OutboxLimits limits);

  /// Adds a message, and wakes the reader of wake().
  void push(Message message);
  /// Adds a message of an earlier process, which is on disk. @pre numbers ascend
  void push_stored(uint64_t number, size_t bytes, const std::string& retained_topic, bool state);
  /// Adds a retained message unless push() had one of its topic.
  void push_if_new(Message message);
  /// Adds the last message of each retained topic that is not in the queue, because the broker may
  /// have lost it.
  void repeat_retained();
  /// Removes states that were not sent and that newer ones of their topics replace.
  void drop_replaced();

  struct Item {
    uint64_t number = 0;
    Message message;  // empty if it is on disk
    bool stored = false;
  };
  /// Returns a message that was not sent, and marks it as sent: the preferred one, or else the
  /// oldest state, or else the oldest one.
  std::optional<Item> take(uint64_t preferred = 0);
  /// Removes a message, because the broker has it.
  void done(uint64_t number);
  /// Removes a message that cannot be sent, and counts it as dropped.
  void drop(uint64_t number);
  /// Marks messages as not sent.
  void give_back(const std::vector<uint64_t>& numbers);
  /// How many connections were lost with a message that was sent and not confirmed.
  struct Loss {
    uint64_t number = 0;
    int times = 0;
  };
  /// Notes that the connection was lost. @return the message that was lost most often; of several
  /// the one that was sent first; 0 times if none was sent
  Loss note_loss();
  void forget_losses();

  /// Returns some of the oldest messages that are neither on disk nor confirmed.
  std::vector<Item> unstored() const;
  /// Notes that messages are on disk.
  void stored(const std::vector<Item>& items);
  /// Returns the numbers of messages that are on disk and no longer in the queue; once.
  std::vector<uint64_t> take_gone();

  /// Removes all messages that are not on disk. They count as dropped. @return how many
  size_t drop_unstored();

  size_t size() const;
  /// Returns how many messages were dropped.
  uint64_t dropped() const;
  /// True if messages were dropped because the queue was full.
  bool overflowed() const;
  /// Returns a descriptor that is readable after push() until clear_wake().
  int wake() const { return wake_.number(); }
  void wake_up() const;
  void clear_wake() const;

 private:
  struct Entry {
    Item item;
    size_t bytes = 0;
    bool state = false, replaced = false;
    uint64_t given = 0;  // the how-many-th one that was given to the broker; 0: it waits
    bool done = false;
    int losses = 0;
  };
  /// Last message of a retained topic.
  struct Retained {
    Message message;  // empty for that of an earlier process
    uint64_t number = 0;
    bool earlier = false;
    bool dropped = false;
  };
  std::deque<Entry>::const_iterator from(uint64_t number) const;
  const Entry* find(uint64_t number) const;
  Entry* find(uint64_t number);
  void add(Entry entry);
  void add_new(Message message);
  void remember(const std::string& topic, Retained last);
  Entry* next_waiting(uint64_t preferred);
  void leave(const Entry& entry);
  void drop_oldest();
  void repeat(bool dropped_only);
  void remove(Entry& entry);

  const OutboxLimits limits_;
  Descriptor wake_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // by ascending number
  uint64_t next_ = 1;
  uint64_t unstored_ = 0;  // all lower numbers are on disk, or confirmed
  std::vector<uint64_t> gone_;
  std::map<std::string, Retained> retained_;  // by topic
  std::map<uint64_t, std::string> last_;      // their topics, by number
  std::set<uint64_t> states_;                 // that wait
  bool missing_ = false;                      // a last message was dropped
  uint64_t times_given_ = 0;
  size_t done_ = 0;     // of the entries
  size_t waiting_ = 0;  // not given to the broker
  uint64_t waiting_bytes_ = 0;
  uint64_t dropped_ = 0;
  bool overflowed_ = false;
};

}  // namespace keepbox
