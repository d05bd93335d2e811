// SPDX-License-Identifier: LGPL-2.1-or-later
// MQTT by libmosquitto.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gst/publish/mqttclient.h"
#include "gst/publish/outbox.h"

namespace keepbox {

// Interface to the client library of a message broker.

/// Answer of a broker that was asked for retained messages.
enum class RetainedAnswer : uint8_t { kNone, kGranted, kRefused };

/// A connection that may be opened repeatedly. Used by one thread, which it never keeps waiting for
/// the network longer than a call allows.
class Broker {
 public:
  virtual ~Broker() = default;

  /// Begins to connect. After an error, or if work() fails, it is closed and may be opened again.
  virtual Status open() = 0;

  /// True if messages can be handed over.
  virtual bool ready() const = 0;

  /// Sends and receives until something has happened, `wake` is readable or the timeout expires.
  /// @param wake a file descriptor, which is not read
  virtual Status work(int wake, int timeout_ms) = 0;

  /// Takes a message, which it sends again after a lost connection, unless take_back() returns it.
  /// kInvalid if the message can never be sent; the connection goes on. @pre ready()
  virtual Status send(const Message& message, uint64_t number) = 0;

  /// Returns the numbers of the messages that the broker has confirmed since the last call.
  virtual std::vector<uint64_t> take_delivered() = 0;

  /// Returns the numbers of the messages that were lost with a connection and have to be sent
  /// again.
  virtual std::vector<uint64_t> take_back() = 0;

  /// Forgets all messages, also those that it would send again, and returns their numbers. @pre it
  /// is closed
  virtual Result<std::vector<uint64_t>> reset() = 0;

  /// Publishes a retained message that is neither numbered nor confirmed. @pre ready()
  virtual void publish_state(const std::string& topic, const std::string& state) = 0;

  /// Asks for the retained messages of topics, possibly with wildcards. kInvalid if nobody can ask
  /// for these; the connection goes on. @pre ready()
  virtual Status ask_for_retained(const std::string& topics) = 0;
  virtual RetainedAnswer retained_answer() const = 0;
  /// Returns the retained messages that came since the last call.
  virtual std::vector<Message> take_retained() = 0;
  /// @pre ready()
  virtual void end_retained(const std::string& topics) = 0;

  /// Ends the connection in an orderly way, if it is ready. @param timeout_ms that this may take
  virtual void close(int timeout_ms) = 0;

  /// Returns a name for messages, such as localhost:1883.
  virtual std::string name() const = 0;
};

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
