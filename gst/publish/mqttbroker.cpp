// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects without being waited for: name servers, and hosts that do not answer, take minutes.
#include "gst/publish/mqttbroker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "core/base/infile.h"

namespace keepbox {

/// A connection that is being established. Its thread owns all that it uses, so that nothing waits
/// for it: neither a stop nor the end of the process.
struct MqttBroker::Attempt {
  std::shared_ptr<MqttClient> client;
  MqttSettings settings;
  bool clean = false;                                       // clean the session first
  std::atomic<bool> left = false;                           // nobody waits any more
  std::atomic<bool> ended = false;                          // `result` is there
  Descriptor ends{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};  // readable at the end
  Status result;

  Status connect() {
    if (clean) {
      KB_ASSIGN(const auto cleaner, MqttClient::make(settings, true));
      KB_TRY(cleaner->clean_session(left));
    }
    return client->connect(left);
  }
  void run() {
    result = connect();
    ended = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = write(ends.number(), &one, sizeof one);
  }
};

Result<std::unique_ptr<Broker>> MqttBroker::make(const MqttSettings& settings) {
  std::unique_ptr<MqttBroker> out(new MqttBroker(settings));
  KB_ASSIGN(out->client_, MqttClient::make(settings, false));
  out->cleaned_ = !settings.has_session();
  return out;
}

MqttBroker::~MqttBroker() {
  if (attempt_) attempt_->left = true;
}

/// An attempt that goes on longer than anybody waited for it is waited for again.
Status MqttBroker::open() {
  if (attempt_) return {};
  attempt_ = std::make_shared<Attempt>();
  attempt_->client = client_;
  attempt_->settings = settings_;
  attempt_->clean = !cleaned_;
  std::thread([attempt = attempt_] { attempt->run(); }).detach();
  return {};
}

Status MqttBroker::work(int wake, int timeout_ms) {
  if (!attempt_) return client_->work(wake, timeout_ms);
  std::array<pollfd, 2> wanted{
      pollfd{.fd = attempt_->ends.number(), .events = POLLIN, .revents = 0},
      pollfd{.fd = wake, .events = POLLIN, .revents = 0}};
  poll(wanted.data(), wanted.size(), timeout_ms);
  if (!attempt_->ended) return {};
  const auto attempt = std::exchange(attempt_, nullptr);
  cleaned_ |= attempt->result.has_value();
  return attempt->result;
}

Status MqttBroker::send(const Message& message, uint64_t number) {
  return client_->send(message, number);
}

std::vector<uint64_t> MqttBroker::take_delivered() {
  if (attempt_) return {};
  return std::exchange(client_->delivered, {});
}

/// Returns the messages without an answer: libmosquitto forgets them if a connection is lost.
std::vector<uint64_t> MqttBroker::take_back() {
  std::vector<uint64_t> out;
  if (attempt_) return out;
  for (const auto& [id, given] : client_->given)
    if (given.qos == 0) out.push_back(given.number);
  std::erase_if(client_->given, [](const auto& each) { return each.second.qos == 0; });
  return out;
}

Result<std::vector<uint64_t>> MqttBroker::reset() {
  std::vector<uint64_t> out;
  if (attempt_) return out;
  KB_ASSIGN(std::shared_ptr<MqttClient> next, MqttClient::make(settings_, false));
  for (const auto& [id, given] : client_->given) out.push_back(given.number);
  client_ = std::move(next);
  cleaned_ = !settings_.has_session();  // its numbers begin at 1 again
  return out;
}

void MqttBroker::publish_state(const std::string& topic, const std::string& state) {
  client_->publish_state(topic, state);
}

Status MqttBroker::ask_for_retained(const std::string& topics) {
  return client_->subscribe(topics);
}

RetainedAnswer MqttBroker::retained_answer() const {
  if (attempt_ || client_->granted < 0) return RetainedAnswer::kNone;
  return client_->granted > 2 ? RetainedAnswer::kRefused : RetainedAnswer::kGranted;
}

std::vector<Message> MqttBroker::take_retained() {
  if (attempt_) return {};
  return std::exchange(client_->retained, {});
}

void MqttBroker::end_retained(const std::string& topics) { client_->unsubscribe(topics); }

void MqttBroker::close(int timeout_ms) {
  if (!attempt_) client_->disconnect(timeout_ms);
}

}  // namespace keepbox
