// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that sends messages to a broker.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/result.h"
#include "gst/publish/broker.h"
#include "gst/publish/diskqueue.h"
#include "gst/publish/outbox.h"

namespace keepbox {

struct SenderSettings {
  std::chrono::milliseconds first_wait{500};  // before the second attempt to connect
  std::chrono::milliseconds longest_wait{30000};
  std::chrono::milliseconds answer_within{15000};  // after which an attempt has failed
};

/// Counts since the start.
struct SenderState {
  bool connected = false;
  uint64_t published = 0;    // messages that the broker has confirmed
  uint64_t connections = 0;  // established
  std::string last_error;    // of the connection; empty: none
};

/// Keeps connecting, with growing pauses, and sends messages in their order.
class Sender {
 public:
  using Warn = std::function<void(const Error&)>;

  /// @param disk keeps messages for the next start; std::nullopt: they are in memory only
  /// @param warn is called by the thread, once per outage
  Sender(std::unique_ptr<Broker> broker, Outbox& outbox, std::optional<DiskQueue> disk,
         SenderSettings settings, Warn warn);
  ~Sender();

  /// Ends the thread. Waits until all messages are delivered, no longer than that time.
  void stop(std::chrono::milliseconds within);

  SenderState state() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool is_over() const;
  void connect();
  void work();
  void schedule_reconnect(const Error& error);
  Status send_queued();
  void store();
  void collect();
  int pause_until(Clock::time_point time) const;

  std::unique_ptr<Broker> broker_;
  Outbox& outbox_;
  std::optional<DiskQueue> disk_;
  const SenderSettings settings_;
  Warn warn_;
  std::atomic<bool> stopping_ = false;         // what is left is delivered
  std::atomic<bool> deadline_passed_ = false;  // stop-timeout has expired

  // The thread's own:
  bool open_ = false, warned_ = false, warned_disk_ = false;
  Clock::time_point next_attempt_{}, answer_by_{};
  std::chrono::milliseconds wait_;
  uint64_t dropped_ = 0;  // when the last warning was posted
  size_t given_ = 0;      // messages that the broker has not confirmed

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  SenderState state_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace keepbox
