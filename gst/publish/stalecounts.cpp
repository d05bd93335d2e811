// SPDX-License-Identifier: LGPL-2.1-or-later
// Subscribes for a few seconds, because brokers may send retained messages later than their answer.
#include "gst/publish/stalecounts.h"

#include <utility>

#include "gst/base/words.h"

namespace keepbox {
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
