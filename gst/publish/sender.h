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
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "gst/publish/counts.h"
#include "gst/publish/diskqueue.h"
#include "gst/publish/mqttbroker.h"
#include "gst/publish/outbox.h"

namespace keepbox {

// The state of a camera: whether it delivers frames.

/// Whether frames arrive. From any thread.
class Camera {
 public:
  enum class State {
    kOffline,  // before the first frame, and after the end of the stream
    kOnline,
    kStalled,  // no frame for the timeout
  };

  explicit Camera(std::chrono::milliseconds timeout) : timeout_(timeout), last_(now()) {}

  /// Notes that a frame arrived.
  void frame() {
    last_ = now();
    online_ = true;
    ended_ = false;
  }
  /// Notes the end of the stream.
  void end() {
    online_ = false;
    ended_ = true;
  }

  State state() const {
    if (ended_) return State::kOffline;
    if (now() - last_ > Clock::duration(timeout_).count()) return State::kStalled;
    return online_ ? State::kOnline : State::kOffline;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }

  const std::chrono::milliseconds timeout_;
  std::atomic<Clock::rep> last_;  // time of a frame, or of the start
  std::atomic<bool> online_ = false, ended_ = false;
};

// Retained numbers that an earlier run left on the broker.

/// Finds retained numbers of a source by one subscription, and sets to 0 those that this run does
/// not publish. For one thread.
class StaleCounts {
 public:
  /// @param topics of the numbers; an empty pattern: nothing is looked for
  StaleCounts(TopicPattern topics, std::string source, int qos);

  /// Adds the topic of a message that an earlier run did not send, if it is that of a number.
  void add(const std::string& topic);
  /// Asks a broker to which a connection was established, unless it has answered.
  void ask(Broker& broker);
  /// True if the broker has not answered yet.
  bool is_asking() const { return attempts_ > 0 && !answered_; }
  /// Takes what the broker has sent. @return a warning if it refuses the subscription; once
  std::optional<Error> collect(Broker& broker);
  /// Sets the numbers to 0 that were found so far. @pre this run has published its own
  void clear(Outbox& outbox);

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Error> refused();

  TopicPattern pattern_;
  std::string source_, filter_;
  int qos_;
  std::set<std::string> topics_;
  int attempts_ = 0;
  bool answered_ = false;
  std::optional<Clock::time_point> until_;  // when the subscription ends
};

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
