// SPDX-License-Identifier: LGPL-2.1-or-later
// MQTT by libmosquitto.
#pragma once

#include <mosquitto.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gst/publish/broker.h"
#include "gst/publish/brokeraddress.h"

namespace keepbox {

struct MqttSettings {
  BrokerAddress address;
  std::string client_id;  // empty: a random one
  std::string username, password;
  std::string ca_file;              // empty: the system's certificates
  std::string cert_file, key_file;  // of the client; empty: none
  bool verify_host = true;          // the certificate has to be for the host
  int keep_alive = 30;              // seconds
  int qos = 1;                      // the highest of the messages
  std::string availability;         // topic of "online" and "offline"; empty: none
};

/// A client whose messages with qos 1 and 2 outlive a lost connection.
class MqttBroker : public Broker {
 public:
  /// Fails if files of the settings are missing or unusable.
  static Result<std::unique_ptr<Broker>> make(const MqttSettings& settings);
  ~MqttBroker() override;

  Status open(const std::atomic<bool>& stopping) override;
  bool ready() const override { return ready_; }
  Status work(int wake, int timeout_ms) override;
  Status send(const Message& message, uint64_t number) override;
  std::vector<uint64_t> take_delivered() override { return std::exchange(delivered_, {}); }
  std::vector<uint64_t> take_back() override;
  void close(int timeout_ms) override;
  std::string name() const override { return settings_.address.text(); }

 private:
  explicit MqttBroker(const MqttSettings& settings);
  Status set_up();
  Status set_up_tls();
  Status failed(int code);
  void publish_availability(const char* state);

  static void on_connect(mosquitto*, void* self, int code);
  static void on_disconnect(mosquitto*, void* self, int code);
  static void on_publish(mosquitto*, void* self, int message);
  static void on_log(mosquitto*, void* self, int level, const char* text);

  struct SentMessage {
    uint64_t number;
    int qos;
  };

  const MqttSettings settings_;
  mosquitto* client_ = nullptr;
  bool ready_ = false;
  std::map<int, SentMessage> given_;  // by libmosquitto's numbers
  int early_ = 0;                     // number that was published before send() knew it
  std::vector<uint64_t> delivered_;
  std::string refused_reason_;  // by the broker, of a connection
  std::string last_log_;        // error of libmosquitto or its TLS library
};

}  // namespace keepbox
