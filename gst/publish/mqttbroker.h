// SPDX-License-Identifier: LGPL-2.1-or-later
// MQTT by libmosquitto.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gst/publish/broker.h"
#include "gst/publish/mqttclient.h"

namespace keepbox {

/// A client that connects in a thread of its own, which is left behind if it waits for the network
/// when the broker is destroyed.
class MqttBroker : public Broker {
 public:
  /// Fails if files of the settings are missing or unusable.
  static Result<std::unique_ptr<Broker>> make(const MqttSettings& settings);
  ~MqttBroker() override;

  Status open() override;
  bool ready() const override { return !attempt_ && client_->ready; }
  Status work(int wake, int timeout_ms) override;
  Status send(const Message& message, uint64_t number) override;
  std::vector<uint64_t> take_delivered() override;
  std::vector<uint64_t> take_back() override;
  Result<std::vector<uint64_t>> reset() override;
  void publish_state(const std::string& topic, const std::string& state) override;
  Status ask_for_retained(const std::string& topics) override;
  RetainedAnswer retained_answer() const override;
  std::vector<Message> take_retained() override;
  void end_retained(const std::string& topics) override;
  void close(int timeout_ms) override;
  std::string name() const override { return settings_.address.text(); }

 private:
  struct Attempt;

  explicit MqttBroker(const MqttSettings& settings) : settings_(settings) {}

  const MqttSettings settings_;
  std::shared_ptr<MqttClient> client_;  // the attempt's thread uses it while there is one
  std::shared_ptr<Attempt> attempt_;
  bool cleaned_ = false;  // the broker has no session of an earlier process
};

}  // namespace keepbox
