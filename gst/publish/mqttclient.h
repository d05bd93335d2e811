// SPDX-License-Identifier: LGPL-2.1-or-later
// A client of libmosquitto, and what its callbacks note.
#pragma once

#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gst/publish/outbox.h"

namespace keepbox {

// Addresses of brokers.

struct BrokerAddress {
  std::string host;
  int port = 0;
  bool tls = false;

  /// Parses HOST, HOST:PORT, mqtt://HOST:PORT or, with TLS, mqtts://HOST:PORT. An IPv6 address is
  /// in brackets. The default ports are 1883 and, with TLS, 8883.
  static Result<BrokerAddress> parse(const std::string& text);

  std::string text() const;
};

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

  /// True if the broker keeps the session, in which it recognises a message that is sent again.
  bool has_session() const { return qos == 2 && !client_id.empty(); }
};

/// A client whose messages with qos 1 and 2 outlive a lost connection. For one thread at a time.
class MqttClient {
 public:
  /// Fails if files of the settings are missing or unusable.
  static Result<std::unique_ptr<MqttClient>> make(const MqttSettings& settings, bool clean);
  ~MqttClient();
  MqttClient(const MqttClient&) = delete;
  MqttClient& operator=(const MqttClient&) = delete;

  /// Connects, and waits for the network. @param left becomes true when nobody waits any more
  Status connect(const std::atomic<bool>& left);
  /// Connects with a clean session and ends the connection, so that the broker forgets the numbers
  /// of an earlier process's messages.
  Status clean_session(const std::atomic<bool>& left);

  /// Sends and receives until something has happened, `wake` is readable or the timeout expires.
  Status work(int wake, int timeout_ms);
  /// kInvalid if the message can never be sent.
  Status send(const Message& message, uint64_t number);
  void publish_state(const std::string& topic, const std::string& state);
  void disconnect(int timeout_ms);
  Status subscribe(const std::string& topics);
  void unsubscribe(const std::string& topics);

  struct SentMessage {
    uint64_t number;
    int qos;
  };
  bool ready = false;                // messages can be sent
  std::map<int, SentMessage> given;  // without an answer, by libmosquitto's numbers
  std::vector<uint64_t> delivered;
  std::vector<Message> retained;  // that came by the subscription
  int granted = -1;               // qos of the subscription; above 2: it is refused; -1: no answer

 private:
  MqttClient(const MqttSettings& settings, bool clean);
  Status set_up();
  Status set_up_tls();
  Status connect_to(const std::string& host);
  Status failed(int code);

  static void on_connect(mosquitto*, void* self, int code);
  static void on_disconnect(mosquitto*, void* self, int code);
  static void on_publish(mosquitto*, void* self, int message);
  static void on_subscribe(mosquitto*, void* self, int id, int count, const int* granted);
  static void on_message(mosquitto*, void* self, const mosquitto_message* message);
  static void on_log(mosquitto*, void* self, int level, const char* text);

  const MqttSettings settings_;
  const bool clean_;
  mosquitto* client_ = nullptr;
  std::set<int> states_;        // without an answer, by libmosquitto's numbers
  int early_ = 0;               // number that was published before send() knew it
  std::string refused_reason_;  // by the broker, of a connection
  std::string last_log_;        // error of libmosquitto or its TLS library
};

// Finds the address at which a server can be reached.

/// Resolves a name and returns the first of its addresses, as a number, that accepts a connection
/// within that time. kInterrupted if `stopping` becomes true.
Result<std::string> reachable_address(const std::string& host, int port,
                                      std::chrono::milliseconds within,
                                      const std::atomic<bool>& stopping);

}  // namespace keepbox
