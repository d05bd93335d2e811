// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects, hands over, and removes what is delivered.
#include "gst/publish/sender.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace keepbox {
namespace {

using namespace std::chrono_literals;

constexpr size_t kWindow = 20;          // messages sent and not confirmed
constexpr auto kLongestWork = 500ms;    // between looks at the time
constexpr auto kCloseTimeout = 1000ms;  // maximum time for closing

/// Waits until a descriptor is readable.
void wait_for(int descriptor, int timeout_ms) {
  pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
  poll(&wanted, 1, timeout_ms);
}

/// A connection that breaks while it is written to must not end the process.
void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

Sender::Sender(std::unique_ptr<Broker> broker, Outbox& outbox, std::optional<DiskQueue> disk,
               SenderSettings settings, Warn warn)
    : broker_(std::move(broker)),
      outbox_(outbox),
      disk_(std::move(disk)),
      settings_(settings),
      warn_(std::move(warn)),
      wait_(settings.first_wait),
      thread_([this] { run(); }) {}

Sender::~Sender() { stop(0ms); }

void Sender::stop(std::chrono::milliseconds within) {
  if (!thread_.joinable()) return;
  stopping_ = true;
  outbox_.wake_up();
  {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, within, [this] { return has_ended_; });
  }
  deadline_passed_ = true;
  outbox_.wake_up();
  thread_.join();
  disk_.reset();  // the next start opens its folder
}

SenderState Sender::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Sender::is_over() const {
  if (!stopping_) return false;
  if (outbox_.size() == 0) return true;
  // Messages on disk are delivered after the next start.
  return deadline_passed_ || (disk_ && !broker_->ready());
}

/// Returns the milliseconds to a time, as poll() takes them.
int Sender::pause_until(Clock::time_point time) const {
  const auto left = std::clamp<Clock::duration>(time - Clock::now(), 0ms, kLongestWork);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

void Sender::run() {
  block_sigpipe();
  for (store(); !is_over(); store()) {
    if (open_) work();
    else if (Clock::now() >= next_attempt_) connect();
    else wait_for(outbox_.wake(), pause_until(next_attempt_));
    outbox_.clear_wake();
  }
  if (open_) broker_->close(static_cast<int>(kCloseTimeout / 1ms));
  const std::lock_guard lock(mutex_);
  state_.connected = false;
  has_ended_ = true;
  ended_.notify_all();
}

void Sender::connect() {
  answer_by_ = Clock::now() + settings_.answer_within;
  if (const Status done = broker_->open(deadline_passed_); !done)
    return schedule_reconnect(done.error());
  open_ = true;
}

void Sender::work() {
  const bool was_ready = broker_->ready();
  if (was_ready)
    if (const Status done = send_queued(); !done) return schedule_reconnect(done.error());
  const Status done = broker_->work(outbox_.wake(), static_cast<int>(kLongestWork / 1ms));
  collect();
  if (!done) return schedule_reconnect(done.error());
  if (broker_->ready() && !was_ready) {
    wait_ = settings_.first_wait;
    warned_ = false;
    const std::lock_guard lock(mutex_);
    state_.connected = true;
    ++state_.connections;
    state_.last_error.clear();
  }
  if (!broker_->ready() && Clock::now() >= answer_by_) {
    broker_->close(0);
    schedule_reconnect(problem(ErrorKind::kNoResource, "no answer"));
  }
}

/// Plans the next attempt, and warns once until a connection is established.
void Sender::schedule_reconnect(const Error& error) {
  open_ = false;
  const auto lost = broker_->take_back();
  given_ -= std::min(given_, lost.size());
  outbox_.give_back(lost);
  next_attempt_ = Clock::now() + wait_;
  wait_ = std::min(wait_ * 2, settings_.longest_wait);
  {
    const std::lock_guard lock(mutex_);
    state_.connected = false;
    state_.last_error = error.statement();
  }
  if (std::exchange(warned_, true)) return;
  warn_(
      problem(ErrorKind::kNoResource,
              "The broker " + broker_->name() + " cannot be reached: " + error.statement(),
              "messages are kept, up to queue-size= and queue-bytes=, and the element keeps trying "
              "to connect; check the broker and address="));
}

/// Sends queued messages in their order.
Status Sender::send_queued() {
  while (given_ < kWindow) {
    const auto item = outbox_.take();
    if (!item) break;
    Result<Message> message = item->place ? disk_->read(*item->place) : item->message;
    if (!message) {  // the file is gone
      warn_(message.error());
      outbox_.done(item->number);
      continue;
    }
    if (const Status sent = broker_->send(*message, item->number); !sent) {
      outbox_.give_back({item->number});
      return sent;
    }
    ++given_;
  }
  return {};
}

/// Removes the messages that the broker has confirmed.
void Sender::collect() {
  const auto numbers = broker_->take_delivered();
  if (numbers.empty()) return;
  {
    // Counted first, so that statistics with an empty queue count all of them as published.
    const std::lock_guard lock(mutex_);
    state_.published += numbers.size();
  }
  for (const uint64_t number : numbers) outbox_.done(number);
  given_ -= std::min(given_, numbers.size());
}

/// Writes new messages to disk, and warns if the queue was full.
void Sender::store() {
  const uint64_t dropped = outbox_.dropped();
  if (dropped != dropped_ && dropped_ == 0)
    warn_(problem(ErrorKind::kNoResource, "The queue is full: the oldest messages are dropped",
                  "raise queue-size= and queue-bytes=, or lower rate="));
  dropped_ = dropped;
  if (!disk_) return;
  while (const auto item = outbox_.next_unstored()) {
    const auto place = disk_->append(item->number, item->message);
    if (!place) {
      if (!std::exchange(warned_disk_, true)) warn_(place.error());
      break;
    }
    warned_disk_ = false;
    outbox_.stored(item->number, *place);
  }
  disk_->forget_below(outbox_.lowest());
}

}  // namespace keepbox
