// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps messages in order, and drops the oldest ones.
#include "gst/publish/outbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace keepbox {

Outbox::Outbox(OutboxLimits limits, uint64_t first)
    : limits_(limits), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), next_(first) {}

void Outbox::wake_up() const {
  const uint64_t one = 1;
  // It only fails if it is readable already.
  [[maybe_unused]] const auto written = write(wake_.number(), &one, sizeof one);
}

void Outbox::clear_wake() const {
  uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_.number(), &count, sizeof count);
}

std::deque<Outbox::Entry>::const_iterator Outbox::from(uint64_t number) const {
  const auto by_number = [](const Entry& entry) { return entry.item.number; };
  return std::ranges::lower_bound(entries_, number, {}, by_number);
}

Outbox::Entry* Outbox::find(uint64_t number) {
  const auto at = entries_.begin() + (from(number) - entries_.cbegin());
  return at != entries_.end() && at->item.number == number ? &*at : nullptr;
}

void Outbox::drop_oldest() {
  const auto oldest = std::ranges::find_if(entries_, [](const Entry& e) { return !e.given; });
  --waiting_;
  waiting_bytes_ -= oldest->bytes;
  ++dropped_;
  entries_.erase(oldest);
}

void Outbox::add(Entry entry) {
  ++waiting_;
  waiting_bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  while (waiting_ > limits_.messages || (waiting_ > 1 && waiting_bytes_ > limits_.bytes))
    drop_oldest();
}

void Outbox::push(Message message) {
  {
    const std::lock_guard lock(mutex_);
    const size_t bytes = message.bytes();
    add({.item = {.number = next_++, .message = std::move(message)}, .bytes = bytes});
  }
  wake_up();
}

void Outbox::push_stored(uint64_t number, DiskPlace place) {
  const std::lock_guard lock(mutex_);
  next_ = number + 1;
  add({.item = {.number = number, .message = {}, .place = place}, .bytes = place.bytes});
}

std::optional<Outbox::Item> Outbox::take() {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [](const Entry& e) { return !e.given; });
  if (found == entries_.end()) return std::nullopt;
  found->given = true;
  --waiting_;
  waiting_bytes_ -= found->bytes;
  return found->item;
}

void Outbox::done(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = find(number)) done_ += !std::exchange(entry->done, true);
  for (; !entries_.empty() && entries_.front().done; --done_) entries_.pop_front();
}

void Outbox::give_back(const std::vector<uint64_t>& numbers) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t number : numbers) {
    Entry* entry = find(number);
    if (entry == nullptr || entry->done || !std::exchange(entry->given, false)) continue;
    ++waiting_;
    waiting_bytes_ += entry->bytes;
  }
}

std::optional<Outbox::Item> Outbox::next_unstored() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(from(unstored_), entries_.end(),
                                  [](const Entry& e) { return !e.item.place && !e.given; });
  if (found == entries_.end()) return std::nullopt;
  return found->item;
}

void Outbox::stored(uint64_t number, DiskPlace place) {
  const std::lock_guard lock(mutex_);
  unstored_ = number + 1;
  Entry* entry = find(number);
  if (entry == nullptr) return;
  entry->item.place = place;
  entry->item.message = {};
}

uint64_t Outbox::lowest() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? next_ : entries_.front().item.number;
}

size_t Outbox::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size() - done_;
}

uint64_t Outbox::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace keepbox
