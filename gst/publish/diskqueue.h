// SPDX-License-Identifier: LGPL-2.1-or-later
// A queue of messages in files, which outlives the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/base/plainfile.h"
#include "gst/publish/diskplace.h"
#include "gst/publish/message.h"

namespace keepbox {

/// A folder of files, to which messages are appended with ascending numbers, and of which the file
/// `sent` has the number up to which messages are sent. Records are in the byte order of the
/// machine, and have checksums: a record that a crash left incomplete is left out. For one thread.
class DiskQueue {
 public:
  static constexpr uint64_t kFileBytes = uint64_t{1} << 20;  // after which another file begins

  struct UnsentMessage {
    uint64_t number;
    DiskPlace place;
  };

  /// Makes the folder if it is missing, locks it, and finds the messages that are left. Fails if
  /// the folder has another user or cannot be written to.
  static Result<DiskQueue> open(const std::string& folder);

  DiskQueue(DiskQueue&&) = default;
  DiskQueue& operator=(DiskQueue&&) = default;
  ~DiskQueue();

  /// Returns the messages that an earlier user left unsent, by ascending number; once.
  std::vector<UnsentMessage> take_unsent() { return std::exchange(unsent_, {}); }

  /// Returns a number that is higher than all earlier ones.
  uint64_t next_number() const;

  /// @pre the number is higher than all earlier ones.
  Result<DiskPlace> append(uint64_t number, const Message& message);

  /// kTruncated if there is no such record.
  Result<Message> read(DiskPlace place) const;

  /// Notes that all messages below a number are sent or dropped, and removes their files.
  void forget_below(uint64_t number);

 private:
  DiskQueue() = default;
  std::string path_of(uint64_t file) const;
  Status find_left();
  void scan(uint64_t file);
  Status begin_file(uint64_t number);
  void save_sent();

  std::string folder_;
  Descriptor lock_, sent_file_, tail_;  // the last is the file that is appended to
  std::map<uint64_t, uint64_t> files_;  // last number in each file, by its first one
  uint64_t tail_bytes_ = 0;
  uint64_t sent_ = 0;  // lowest number that is not sent
  std::chrono::steady_clock::time_point saved_;
  std::vector<UnsentMessage> unsent_;
};

}  // namespace keepbox
