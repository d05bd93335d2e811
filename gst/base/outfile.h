// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that get their final name only when complete.
#pragma once

#include <gst/gst.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/infile.h"
#include "core/base/result.h"

namespace keepbox {

// Open files that several writers of a process write to directly.

/// The pending text of a writer.
struct DirectText {
  std::string waiting;  // not started yet
  uint64_t number = 0;  // of the text started last, in its SharedOutput
};

/// A device and inode that is written directly. Texts of several writers are written one after the
/// other, even if an interrupt leaves half of one: the next writer completes it first. From any
/// thread.
class SharedOutput {
 public:
  /// Returns the output of an open file, shared by all its writers.
  static std::shared_ptr<SharedOutput> of(int file);

  /// Writes a piece without waiting, as far as there is room: of the text started last, else of the
  /// pending one. @return 0, or errno.
  int write_piece(int file, DirectText& text);

  /// True if all of a writer's text is written.
  bool is_written(const DirectText& text) const;

 private:
  size_t piece_of(int file) const;

  mutable std::mutex mutex_;
  std::string text_;  // text started last
  size_t done_ = 0;   // bytes of it written
  uint64_t number_ = 0;
};

/// Ends waits for a slow reader of directly written output.
class Interrupt {
 public:
  Interrupt() : poll_(gst_poll_new(TRUE)) {}
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() { gst_poll_free(poll_); }

  /// Makes waits return at once while set. From any thread.
  void set(bool on) { gst_poll_set_flushing(poll_, on); }
  /// Waits until a file accepts bytes. @return true if it does. For one thread at a time.
  bool await_room(int file) const;

 private:
  GstPoll* poll_;
};

/// A file being written: named PATH.part until finish() renames it to PATH, replacing an existing
/// file. "-" is stdout; stdout, devices and FIFOs are written directly. Without finish(), as after
/// an error, PATH.part stays and PATH is unchanged.
class OutFile {
 public:
  /// Fails if the folder is missing or not writable, if PATH.part has another writer or is not a
  /// regular file, or if a FIFO has no reader. A PATH.part left by an earlier writer is renamed to
  /// PATH.part.1, or the next free number.
  /// @param interrupt ends waits for readers, and outlives this; nullptr: only regular files.
  static Result<OutFile> open(const std::string& path, const Interrupt* interrupt = nullptr);

  /// Writes text to the system at once, so that an error is about this text. After an interrupt the
  /// rest is pending() and written first by the next call. Direct output is not interleaved with
  /// that of other writers in the process.
  Status write(std::string_view text);

  /// Returns the path until finish(); empty if written directly.
  const std::string& part() const { return part_; }
  /// Returns a warning about an older unfinished part, which was renamed.
  std::optional<Error> older() const;
  /// Returns the final path, with links followed.
  const std::string& path() const { return path_; }
  /// Returns the bytes written so far, without a tail.
  uint64_t size() const { return size_; }
  /// True if an interrupt left text to write.
  bool pending() const { return shared_ != nullptr && !shared_->is_written(direct_); }

  /// Writes a tail, syncs the file to storage, and renames it.
  Status finish(std::string_view tail);

  /// Removes the part, if its content is not worth keeping.
  void discard();

  /// Continues a finished file, as if its tail had not been written.
  Status resume();

 private:
  struct Closer {
    void operator()(FILE* file) const;
  };
  Status open_directly();
  Status open_part();
  Result<std::optional<Descriptor>> lock(const std::string& name, int flags) const;
  Result<Descriptor> lock_part();
  Result<Descriptor> lock_finished() const;
  Status keep_older();
  Status take(Descriptor file);
  Status write_directly();
  Status failed(const std::string& what) const;  // by errno

  std::string path_;  // links followed
  std::string part_;  // empty: written directly
  std::string kept_;  // new name of an older part
  dev_t device_ = 0;  // device_ and inode_ identify the file
  ino_t inode_ = 0;
  std::shared_ptr<SharedOutput> shared_;  // if written directly
  DirectText direct_;
  const Interrupt* interrupt_ = nullptr;
  std::unique_ptr<FILE, Closer> file_;
  uint64_t size_ = 0;   // bytes before the tail
  long body_size_ = 0;  // size of the part before the tail
  size_t tail_ = 0;     // bytes of the tail
};

}  // namespace keepbox
