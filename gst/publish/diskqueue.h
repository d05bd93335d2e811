// SPDX-License-Identifier: LGPL-2.1-or-later
// A queue of messages in a database, which outlives the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/publish/outbox.h"

struct sqlite3;

namespace keepbox {

/// Messages of the former format in the folder of a queue.
struct OldQueue {
  std::vector<Message> unsent;       // in their order
  std::vector<std::string> files;    // names of the files, which are no longer needed
  std::vector<std::string> damaged;  // names of files of which records are left out
  std::optional<Error> damage;       // of a file that is left out

  /// @param folder is open; the name is for messages
  static OldQueue read(int folder, const std::string& name);
};

/// A folder with the SQLite database queue.db, whose changes are on disk when a call returns. For
/// one thread at a time.
class DiskQueue {
 public:
  struct UnsentMessage {
    uint64_t number;
    size_t bytes;
    std::string retained_topic;  // empty if it is not retained
  };

  /// Makes the folder if it is missing, and takes over files of the former format. Fails if another
  /// element uses the folder, if it is not this user's alone, or if the database is damaged.
  static Result<DiskQueue> open(const std::string& folder);

  /// Returns the messages that an earlier user left unsent, by ascending number.
  Result<std::vector<UnsentMessage>> unsent();

  /// Adds messages and removes others, all or none. @pre numbers ascend
  Status write(std::span<const Outbox::Item> added, std::span<const uint64_t> gone);

  /// kTruncated if there is no such message.
  Result<Message> read(uint64_t number);

  /// Returns a warning that files of the former format are damaged; once.
  std::optional<Error> take_warning() { return std::exchange(warning_, std::nullopt); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  DiskQueue() = default;
  Status open_database();
  Status set_up();
  Status take_over(int folder);
  Status run(const char* sql);
  Result<std::string> text_of(const char* sql);
  Status add(const Outbox::Item& item);
  Status remove(uint64_t number);
  std::unexpected<Error> failed();

  std::string folder_, file_;
  std::unique_ptr<sqlite3, Close> database_;
  std::optional<Error> warning_;
};

}  // namespace keepbox
