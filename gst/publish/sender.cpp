// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects, hands over, and removes what is delivered.
#include "gst/publish/sender.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "core/base/text.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;

constexpr size_t kWindow = 20;          // messages sent and not confirmed
constexpr auto kLongestWork = 500ms;    // between looks at the time
constexpr auto kCloseTimeout = 1000ms;  // maximum time for closing
constexpr auto kBetweenWrites = 1s;     // of deletions, and after an error
constexpr int kMaxLosses = 3;           // of connections, before a message is sent alone

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

const char* text_of(Camera::State state) {
  switch (state) {
    case Camera::State::kOnline: return "online";
    case Camera::State::kStalled: return "stalled";
    case Camera::State::kOffline: break;
  }
  return "offline";
}

}  // namespace

Sender::Sender(std::unique_ptr<Broker> broker, Outbox& outbox, std::optional<DiskQueue> disk,
               std::optional<StaleCounts> stale, SenderSettings settings, Warn warn)
    : broker_(std::move(broker)),
      outbox_(outbox),
      disk_(std::move(disk)),
      stale_(std::move(stale)),
      settings_(std::move(settings)),
      warn_(std::move(warn)),
      camera_(settings_.camera_timeout),
      wait_(settings_.first_wait),
      thread_([this] { run(); }) {}

Sender::~Sender() { stop(0ms); }

void Sender::stop(std::chrono::milliseconds within) {
  if (!thread_.joinable()) return;
  counts_known_ = true;
  stopping_ = true;
  outbox_.wake_up();
  {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, within, [this] { return has_ended_; });
  }
  deadline_passed_ = true;
  outbox_.wake_up();
  thread_.join();
  broker_.reset();  // an attempt to connect that still runs gives up
  disk_.reset();    // the next start opens its folder
}

SenderState Sender::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Sender::is_over() const {
  if (!stopping_) return false;
  if (deadline_passed_) return true;
  // Messages on disk are delivered after the next start.
  if (disk_ && !disk_failed_ && !broker_->ready()) return true;
  return outbox_.size() == 0 && !(broker_->ready() && stale_ && stale_->is_asking());
}

/// Returns the milliseconds to a time, as poll() takes them.
int Sender::pause_until(Clock::time_point time) const {
  const auto left = std::clamp<Clock::duration>(time - Clock::now(), 0ms, kLongestWork);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

void Sender::run() {
  block_sigpipe();
  for (prepare(); !is_over(); prepare()) {
    if (open_) work();
    else if (Clock::now() >= next_attempt_) connect();
    else wait_for(outbox_.wake(), pause_until(next_attempt_));
    outbox_.clear_wake();
  }
  next_write_ = {};
  store();
  if (open_) {
    camera_.end();
    publish_camera();
    broker_->close(static_cast<int>(kCloseTimeout / 1ms));
    collect();  // what was confirmed meanwhile
    next_write_ = {};
    store();
  }
  const std::lock_guard lock(mutex_);
  state_.connected = false;
  has_ended_ = true;
  ended_.notify_all();
}

/// Clears stale counts, and writes to disk: work that needs no connection.
void Sender::prepare() {
  if (stale_ && (counts_known_ || camera_.state() == Camera::State::kStalled))
    stale_->clear(outbox_);
  store();
}

void Sender::connect() {
  answer_by_ = Clock::now() + settings_.answer_within;
  if (const Status done = broker_->open(); !done) return schedule_reconnect(done.error());
  open_ = true;
}

void Sender::work() {
  if (established_) {
    publish_camera();
    if (const Status done = send_queued(); !done) return schedule_reconnect(done.error());
  }
  const Status done = broker_->work(outbox_.wake(), static_cast<int>(kLongestWork / 1ms));
  collect();
  if (!done) return schedule_reconnect(done.error());
  if (broker_->ready() && !established_) begin_connection();
  if (!broker_->ready() && Clock::now() >= answer_by_) {
    broker_->close(0);
    schedule_reconnect(problem(ErrorKind::kNoResource, "no answer"));
  }
}

/// Publishes again what the broker may have lost.
void Sender::begin_connection() {
  established_ = true;
  since_ = Clock::now();
  camera_shown_.reset();
  if (warned_) outbox_.drop_replaced();  // numbers of an outage are no longer true
  outbox_.repeat_retained();
  if (stale_) stale_->ask(*broker_);
  const std::lock_guard lock(mutex_);
  state_.connected = true;
  ++state_.connections;
  state_.last_error.clear();
}

void Sender::publish_camera() {
  const Camera::State state = camera_.state();
  if (settings_.camera_topic.empty() || !broker_->ready() || camera_shown_ == state) return;
  broker_->publish_state(settings_.camera_topic, text_of(state));
  camera_shown_ = state;
}

/// Plans the next attempt, and warns once until a message is confirmed.
void Sender::schedule_reconnect(const Error& error) {
  open_ = false;
  if (std::exchange(established_, false)) {
    if (Clock::now() - since_ >= settings_.longest_wait) begin_anew();
    note_loss();
  }
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

/// Ends an outage: the next one begins with a short pause and a warning.
void Sender::begin_anew() {
  wait_ = settings_.first_wait;
  warned_ = false;
}

/// Finds out whether a message ends the connections: if several were lost with it, it is sent
/// alone, and dropped if that ends the connection, too.
void Sender::note_loss() {
  const Outbox::Loss loss = outbox_.note_loss();
  if (loss.times < kMaxLosses) return;
  const auto all = broker_->reset();
  if (!all) return;
  outbox_.give_back(*all);
  given_ -= std::min(given_, all->size());
  if (std::exchange(alone_, loss.number) != loss.number) return;
  drop(loss.number, alone_topic_, "each connection was lost with it",
       "check whether the broker allows messages of its size and topic");
  alone_ = 0;
  outbox_.forget_losses();
  wait_ = settings_.first_wait;
}

/// Sends queued messages.
Status Sender::send_queued() {
  while (broker_->ready() && given_ < (alone_ != 0 ? 1 : kWindow)) {
    const auto item = outbox_.take(alone_);
    if (!item) break;
    Result<Message> message = item->stored ? disk_->read(item->number) : item->message;
    if (!message && message.error().kind != ErrorKind::kTruncated) {
      outbox_.give_back({item->number});
      if (!std::exchange(warned_unread_, true)) warn_(message.error());
      break;  // it is read again later
    }
    if (!message) {
      if (!std::exchange(warned_missing_, true)) warn_(message.error());
      outbox_.drop(item->number);
      continue;
    }
    KB_TRY(send(*item, *message));
  }
  return {};
}

Status Sender::send(const Outbox::Item& item, const Message& message) {
  if (item.number == alone_) alone_topic_ = message.topic;
  else alone_ = 0;
  const Status sent = broker_->send(message, item.number);
  if (sent) ++given_;
  else if (sent.error().kind == ErrorKind::kInvalid)
    drop(item.number, message.topic, sent.error().statement(),
         "check the labels, and topics and queue-bytes=");
  else {
    outbox_.give_back({item.number});
    return sent;
  }
  return {};
}

/// Drops a message that cannot be sent, and warns of the first one.
void Sender::drop(uint64_t number, const std::string& topic, const std::string& reason,
                  const char* hint) {
  outbox_.drop(number);
  if (std::exchange(warned_message_, true)) return;
  warn_(problem(ErrorKind::kInvalid,
                "A message to the topic " + in_quotes(topic) + " is dropped: " + reason +
                    ". Others are only counted, as dropped in stats",
                hint));
}

/// Removes the messages that the broker has confirmed.
void Sender::collect() {
  if (stale_)
    if (const auto warning = stale_->collect(*broker_)) warn_(*warning);
  const auto numbers = broker_->take_delivered();
  if (numbers.empty()) return;
  begin_anew();
  {
    // Counted first, so that statistics with an empty queue count all of them as published.
    const std::lock_guard lock(mutex_);
    state_.published += numbers.size();
  }
  for (const uint64_t number : numbers) outbox_.done(number);
  given_ -= std::min(given_, numbers.size());
  if (std::ranges::contains(numbers, alone_)) alone_ = 0;
}

/// Writes new messages to disk, and warns if the queue was full.
void Sender::store() {
  if (outbox_.overflowed() && !std::exchange(warned_full_, true))
    warn_(problem(ErrorKind::kNoResource, "The queue is full: the oldest messages are dropped",
                  "raise queue-size= and queue-bytes=, or lower rate="));
  if (!disk_ || (disk_failed_ && Clock::now() < next_write_)) return;
  for (auto added = outbox_.unstored(); !added.empty(); added = outbox_.unstored()) {
    if (!write(added)) return;
    outbox_.stored(added);
  }
  // A message that is still there after a crash is only sent again.
  if (Clock::now() >= next_write_) write({});
}

/// Changes the database. @return false after an error, of which one warning is posted
bool Sender::write(const std::vector<Outbox::Item>& added) {
  std::ranges::copy(outbox_.take_gone(), std::back_inserter(gone_));
  next_write_ = Clock::now() + kBetweenWrites;
  if (added.empty() && gone_.empty()) return true;
  const Status done = disk_->write(added, gone_);
  if (done) gone_.clear();
  else if (!disk_failed_) warn_(done.error());
  disk_failed_ = !done;
  return done.has_value();
}

namespace {

using namespace std::chrono_literals;

constexpr auto kSubscribedFor = 5s;
constexpr int kMaxAttempts = 2;  // some brokers refuse by ending the connection

}  // namespace

StaleCounts::StaleCounts(TopicPattern topics, std::string source, int qos)
    : pattern_(std::move(topics)),
      source_(std::move(source)),
      filter_(pattern_.filter(source_)),
      qos_(qos) {}

void StaleCounts::add(const std::string& topic) {
  if (pattern_.makes(topic, source_)) topics_.insert(topic);
}

void StaleCounts::ask(Broker& broker) {
  if (filter_.empty() || answered_ || attempts_ > kMaxAttempts) return;
  if (++attempts_ > kMaxAttempts) return;  // the last attempt is to give up
  const Status asked = broker.ask_for_retained(filter_);
  // After other errors the connection ends.
  if (!asked && asked.error().kind == ErrorKind::kInvalid) attempts_ = kMaxAttempts + 1;
}

std::optional<Error> StaleCounts::refused() {
  answered_ = true;
  return problem(
      ErrorKind::kNoResource,
      "A subscription to " + in_quotes(filter_) +
          " is refused: numbers that an earlier run left there stay until their class is seen",
      "let this user read these topics, or clear them by hand");
}

std::optional<Error> StaleCounts::collect(Broker& broker) {
  for (const Message& message : broker.take_retained())
    if (!message.payload.empty() && message.payload != "0") add(message.topic);
  if (until_ && Clock::now() >= *until_ && broker.ready()) {
    broker.end_retained(filter_);
    until_.reset();
  }
  if (!is_asking()) return std::nullopt;
  if (attempts_ > kMaxAttempts || broker.retained_answer() == RetainedAnswer::kRefused)
    return refused();
  if (broker.retained_answer() == RetainedAnswer::kGranted) {
    answered_ = true;
    until_ = Clock::now() + kSubscribedFor;
  }
  return std::nullopt;
}

void StaleCounts::clear(Outbox& outbox) {
  for (const std::string& topic : std::exchange(topics_, {}))
    outbox.push_if_new(
        {.topic = topic, .payload = "0", .qos = qos_, .retain = true, .state = true});
}

}  // namespace keepbox
