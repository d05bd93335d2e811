// SPDX-License-Identifier: LGPL-2.1-or-later
// Messages on their way from the stream to the broker.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "gst/base/plainfile.h"
#include "gst/publish/diskplace.h"
#include "gst/publish/message.h"

namespace keepbox {

struct OutboxLimits {
  size_t messages = 10000;
  uint64_t bytes = uint64_t{64} << 20;
};

/// A bounded queue in the order of numbers. If it is full, it drops the oldest message that was not
/// sent yet. From any thread; waits for nothing but its own lock.
class Outbox {
 public:
  /// @param first number of the first message
  explicit Outbox(OutboxLimits limits, uint64_t first = 1);

  /// Adds a message, and wakes the reader of wake().
  void push(Message message);
  /// Adds a message that is on disk already. @pre numbers ascend
  void push_stored(uint64_t number, DiskPlace place);

  /// A message, or where it is.
  struct Item {
    uint64_t number = 0;
    Message message;  // empty if it is on disk
    std::optional<DiskPlace> place;
  };
  /// Returns the oldest message that was not sent, and marks it as sent.
  std::optional<Item> take();
  /// Removes a message, because the broker has it.
  void done(uint64_t number);
  /// Marks messages as not sent.
  void give_back(const std::vector<uint64_t>& numbers);

  /// Returns the oldest message that is neither on disk nor sent; stored() records its location
  /// on disk.
  std::optional<Item> next_unstored() const;
  void stored(uint64_t number, DiskPlace place);
  /// Returns the lowest number that is in the queue, or else the next one.
  uint64_t lowest() const;

  size_t size() const;
  /// Returns how many messages were dropped.
  uint64_t dropped() const;
  /// Returns a descriptor that is readable after push() until clear_wake().
  int wake() const { return wake_.number(); }
  void wake_up() const;
  void clear_wake() const;

 private:
  struct Entry {
    Item item;
    size_t bytes = 0;
    bool given = false, done = false;
  };
  std::deque<Entry>::const_iterator from(uint64_t number) const;
  Entry* find(uint64_t number);
  void add(Entry entry);
  void drop_oldest();

  const OutboxLimits limits_;
  Descriptor wake_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // by ascending number
  uint64_t next_;
  uint64_t unstored_ = 0;  // all lower numbers are on disk, or were sent
  size_t done_ = 0;        // of the entries
  size_t waiting_ = 0;     // not given to the broker
  uint64_t waiting_bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace keepbox
