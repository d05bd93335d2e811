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
#include <vector>

#include "core/base/result.h"
#include "gst/publish/broker.h"
#include "gst/publish/camera.h"
#include "gst/publish/diskqueue.h"
#include "gst/publish/outbox.h"
#include "gst/publish/stalecounts.h"

namespace keepbox {

struct SenderSettings {
  std::chrono::milliseconds first_wait{500};  // before the second attempt to connect
  std::chrono::milliseconds longest_wait{30000};
  std::chrono::milliseconds answer_within{15000};  // after which an attempt has failed
  std::string camera_topic;                        // of the camera's state; empty: none
  std::chrono::milliseconds camera_timeout{10000};
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
  /// @param stale numbers that are set to 0 once counts_known() was called, or the camera stalls
  /// @param warn is called by the thread, once per outage
  Sender(std::unique_ptr<Broker> broker, Outbox& outbox, std::optional<DiskQueue> disk,
         std::optional<StaleCounts> stale, SenderSettings settings, Warn warn);
  ~Sender();

  /// Notes that all numbers of this run are in the outbox. From any thread.
  void counts_known() { counts_known_ = true; }
  Camera& camera() { return camera_; }

  /// Ends the thread. Waits until all messages are delivered, no longer than that time, and up to a
  /// second more for the end of the connection.
  void stop(std::chrono::milliseconds within);

  SenderState state() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool is_over() const;
  void prepare();
  void connect();
  void work();
  void begin_connection();
  void publish_camera();
  void schedule_reconnect(const Error& error);
  void note_loss();
  void begin_anew();
  Status send_queued();
  Status send(const Outbox::Item& item, const Message& message);
  void drop(uint64_t number, const std::string& topic, const std::string& reason, const char* hint);
  void store();
  bool write(const std::vector<Outbox::Item>& added);
  void collect();
  int pause_until(Clock::time_point time) const;

  std::unique_ptr<Broker> broker_;
  Outbox& outbox_;
  std::optional<DiskQueue> disk_;
  std::optional<StaleCounts> stale_;
  const SenderSettings settings_;
  Warn warn_;
  Camera camera_;
  std::atomic<bool> counts_known_ = false;
  std::atomic<bool> stopping_ = false;         // what is left is delivered
  std::atomic<bool> deadline_passed_ = false;  // stop-timeout has expired

  // The thread's own:
  bool open_ = false, established_ = false;
  bool warned_ = false, warned_full_ = false, warned_message_ = false, warned_missing_ = false;
  bool warned_unread_ = false;
  Clock::time_point next_attempt_{}, answer_by_{}, since_{};
  std::chrono::milliseconds wait_;
  size_t given_ = 0;  // messages that the broker has not confirmed
  std::optional<Camera::State> camera_shown_;

  uint64_t alone_ = 0;  // message that is sent without others; 0: none
  std::string alone_topic_;

  std::vector<uint64_t> gone_;  // still on disk
  bool disk_failed_ = false;
  Clock::time_point next_write_{};

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  SenderState state_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace keepbox
