// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps messages in order, and drops the oldest ones.
#include "gst/publish/outbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace keepbox {
namespace {

// Most that is written to disk at once.
constexpr size_t kBatchMessages = 1000;
constexpr size_t kBatchBytes = size_t{8} << 20;

}  // namespace

Outbox::Outbox(OutboxLimits limits)
    : limits_(limits), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

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

const Outbox::Entry* Outbox::find(uint64_t number) const {
  const auto at = from(number);
  return at != entries_.end() && at->item.number == number && !at->done ? &*at : nullptr;
}

Outbox::Entry* Outbox::find(uint64_t number) {
  return const_cast<Entry*>(std::as_const(*this).find(number));
}

/// Notes that a message does not wait any more. @pre it was not given
void Outbox::leave(const Entry& entry) {
  --waiting_;
  waiting_bytes_ -= entry.bytes;
  states_.erase(entry.item.number);
}

void Outbox::drop_oldest() {
  auto oldest = std::ranges::find_if(
      entries_, [this](const Entry& e) { return e.given == 0 && !last_.contains(e.item.number); });
  if (oldest == entries_.end()) {
    oldest = std::ranges::find(entries_, 0u, &Entry::given);
    retained_.at(last_.at(oldest->item.number)).dropped = missing_ = true;
  }
  leave(*oldest);
  ++dropped_;
  overflowed_ = true;
  if (oldest->item.stored) gone_.push_back(oldest->item.number);
  entries_.erase(oldest);
}

void Outbox::add(Entry entry) {
  ++waiting_;
  waiting_bytes_ += entry.bytes;
  if (entry.state) states_.insert(entry.item.number);
  entries_.push_back(std::move(entry));
  while (waiting_ > limits_.messages || (waiting_ > 1 && waiting_bytes_ > limits_.bytes))
    drop_oldest();
}

/// Forgets the topic that had no message for the longest time, if there are too many.
void Outbox::remember(const std::string& topic, Retained last) {
  if (!retained_.contains(topic) && retained_.size() >= kMaxTopics) {
    retained_.erase(last_.begin()->second);
    last_.erase(last_.begin());
  }
  Retained& now = retained_[topic];
  if (Entry* older = find(now.number)) older->replaced = true;
  last_.erase(now.number);
  last_[last.number] = topic;
  now = std::move(last);
}

void Outbox::add_new(Message message) {
  const uint64_t number = next_++;
  if (message.retain) remember(message.topic, {.message = message, .number = number});
  const size_t bytes = message.bytes();
  const bool state = message.state;
  add({.item = {.number = number, .message = std::move(message)}, .bytes = bytes, .state = state});
}

void Outbox::push(Message message) {
  {
    const std::lock_guard lock(mutex_);
    add_new(std::move(message));
  }
  wake_up();
}

void Outbox::push_stored(uint64_t number, size_t bytes, const std::string& retained_topic,
                         bool state) {
  const std::lock_guard lock(mutex_);
  next_ = number + 1;
  if (!retained_topic.empty()) remember(retained_topic, {.number = number, .earlier = true});
  add({.item = {.number = number, .message = {}, .stored = true}, .bytes = bytes, .state = state});
}

void Outbox::push_if_new(Message message) {
  const std::lock_guard lock(mutex_);
  const auto found = retained_.find(message.topic);
  if (found == retained_.end() || found->second.earlier) add_new(std::move(message));
}

void Outbox::repeat(bool dropped_only) {
  missing_ = false;
  std::vector<Message> again;
  for (const auto& [topic, last] : retained_)
    if (!last.earlier && (last.dropped || (!dropped_only && find(last.number) == nullptr)))
      again.push_back(last.message);
  for (Message& message : again) add_new(std::move(message));
}

void Outbox::repeat_retained() {
  const std::lock_guard lock(mutex_);
  repeat(false);
}

void Outbox::drop_replaced() {
  const std::lock_guard lock(mutex_);
  const auto is_old = [](const Entry& e) { return e.state && e.replaced && e.given == 0; };
  for (const Entry& entry : entries_) {
    if (!is_old(entry)) continue;
    leave(entry);
    if (entry.item.stored) gone_.push_back(entry.item.number);
  }
  std::erase_if(entries_, is_old);
}

Outbox::Entry* Outbox::next_waiting(uint64_t preferred) {
  if (Entry* entry = find(preferred); entry != nullptr && entry->given == 0) return entry;
  if (!states_.empty()) return find(*states_.begin());
  const auto found = std::ranges::find(entries_, 0u, &Entry::given);
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<Outbox::Item> Outbox::take(uint64_t preferred) {
  const std::lock_guard lock(mutex_);
  if (waiting_ == 0 && missing_) repeat(true);
  Entry* entry = next_waiting(preferred);
  if (entry == nullptr) return std::nullopt;
  entry->given = ++times_given_;
  leave(*entry);
  return entry->item;
}

/// @pre the entry was given to the broker
void Outbox::remove(Entry& entry) {
  entry.done = true;
  ++done_;
  if (entry.item.stored) gone_.push_back(entry.item.number);
  for (; !entries_.empty() && entries_.front().done; --done_) entries_.pop_front();
}

void Outbox::done(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = find(number)) remove(*entry);
}

void Outbox::drop(uint64_t number) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(number);
  if (entry == nullptr) return;
  ++dropped_;
  if (const auto last = last_.find(number); last != last_.end()) {
    retained_.erase(last->second);
    last_.erase(last);
  }
  remove(*entry);
}

void Outbox::give_back(const std::vector<uint64_t>& numbers) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t number : numbers) {
    Entry* entry = find(number);
    if (entry == nullptr || std::exchange(entry->given, 0) == 0) continue;
    ++waiting_;
    waiting_bytes_ += entry->bytes;
    if (entry->state) states_.insert(number);
  }
}

Outbox::Loss Outbox::note_loss() {
  const std::lock_guard lock(mutex_);
  Loss out;
  uint64_t given = 0;
  for (Entry& entry : entries_) {
    if (entry.given == 0 || entry.done) continue;
    if (++entry.losses < out.times || (entry.losses == out.times && entry.given > given)) continue;
    out = {.number = entry.item.number, .times = entry.losses};
    given = entry.given;
  }
  return out;
}

void Outbox::forget_losses() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) entry.losses = 0;
}

std::vector<Outbox::Item> Outbox::unstored() const {
  const std::lock_guard lock(mutex_);
  std::vector<Item> out;
  size_t bytes = 0;
  for (auto at = from(unstored_); at != entries_.end(); ++at) {
    if (at->item.stored || at->done) continue;
    if (out.size() >= kBatchMessages || bytes >= kBatchBytes) break;
    bytes += at->bytes;
    out.push_back(at->item);
  }
  return out;
}

void Outbox::stored(const std::vector<Item>& items) {
  const std::lock_guard lock(mutex_);
  for (const Item& item : items) {
    unstored_ = item.number + 1;
    Entry* entry = find(item.number);
    if (entry == nullptr) {  // dropped meanwhile
      gone_.push_back(item.number);
      continue;
    }
    entry->item.stored = true;
    entry->item.message = {};
  }
}

std::vector<uint64_t> Outbox::take_gone() {
  const std::lock_guard lock(mutex_);
  return std::exchange(gone_, {});
}

size_t Outbox::drop_unstored() {
  const std::lock_guard lock(mutex_);
  const auto is_lost = [](const Entry& e) { return !e.item.stored && !e.done; };
  for (const Entry& entry : entries_)
    if (is_lost(entry) && entry.given == 0) leave(entry);
  const size_t out = std::erase_if(entries_, is_lost);
  dropped_ += out;
  return out;
}

size_t Outbox::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size() - done_;
}

uint64_t Outbox::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

bool Outbox::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

}  // namespace keepbox
