// SPDX-License-Identifier: LGPL-2.1-or-later
// A real mosquitto, and a subscriber of it.
#pragma once

#include <gtest/gtest.h>
#include <mosquitto.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "gst/publish/outbox.h"
#include "tests/tempdir.h"

namespace keepbox::test {

using namespace std::chrono_literals;

/// Waits until something is true. @return false after 20 s
bool eventually(const std::function<bool()>& condition);

/// A broker at a free port, which keeps what it has when it is stopped.
class Mosquitto {
 public:
  /// @param config lines of the configuration in addition to those of a listener
  explicit Mosquitto(std::string config = "allow_anonymous true\n");
  ~Mosquitto();

  /// True if the program is installed.
  static bool is_there();

  void start();
  void stop();    // as a service is stopped
  void kill();    // at once
  void freeze();  // it does nothing, and its connections stay
  void thaw();

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  const TempDir& folder() const { return folder_; }

 private:
  TempDir folder_;
  int port_ = 0;
  pid_t process_ = 0;
};

/// Publishes a retained message.
void publish_retained(int port, const std::string& topic, const std::string& payload);

/// A subscriber to all topics, for which the broker keeps messages while it is away.
class Subscriber {
 public:
  explicit Subscriber(int port, const char* topics = "#");
  ~Subscriber();

  /// Waits for so many messages. @return all messages until then
  std::vector<Message> wait_for(size_t count);
  std::vector<Message> received() const;
  /// Returns the payloads of a topic.
  std::vector<std::string> payloads(const std::string& topic) const;

 private:
  static void on_connect(mosquitto* client, void* self, int code);
  static void on_message(mosquitto*, void* self, const mosquitto_message* message);

  const char* topics_;
  mosquitto* client_;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Message> received_;
  std::atomic<bool> subscribed_ = false;
};

}  // namespace keepbox::test
