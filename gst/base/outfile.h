// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that get their name only when they are whole.
#pragma once

#include <gst/gst.h>
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "gst/base/plainfile.h"
#include "gst/base/sharedoutput.h"

namespace keepbox {

/// Ends the wait for whoever reads what is written directly, and does not read.
class Interrupt {
 public:
  Interrupt() : poll_(gst_poll_new(TRUE)) {}
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() { gst_poll_free(poll_); }

  /// While it is set nobody waits. From any thread.
  void set(bool on) { gst_poll_set_flushing(poll_, on); }
  /// Waits until a file takes bytes. @return does it? For one thread at a time.
  bool await_room(int file) const;

 private:
  GstPoll* poll_;
};

/// A file being written: under PATH.part until finish() gives it the name PATH, replacing what had
/// it. "-" is stdout; stdout, devices and FIFOs are written directly. Without finish(), as after
/// an error, PATH.part stays and PATH is as it was.
class OutFile {
 public:
  /// Fails when the folder is missing or not writable, another writer has PATH.part, that is no
  /// regular file, or nobody reads a FIFO. A PATH.part that an earlier writer left becomes
  /// PATH.part.1, or the next number that is free.
  /// @param interrupt of waits for readers, outlives this; nullptr: only regular files.
  static Result<OutFile> open(const std::string& path, const Interrupt* interrupt = nullptr);

  /// Hands text to the system at once: an error here is about this text. What an interrupt left is
  /// pending() and goes first the next time. Written directly, text is not torn by that of other
  /// writers in the process.
  Status write(std::string_view text);

  /// Its path until finish(); empty where it is written directly.
  const std::string& part() const { return part_; }
  /// A warning of an older part that nobody finished, which has another name now.
  std::optional<Error> older() const;
  /// Has an interrupt left something?
  bool pending() const { return shared_ != nullptr && !shared_->is_written(direct_); }

  /// Ends the file with a tail, sees to it that all of it is stored, and names it.
  Status finish(std::string_view tail);

  /// Goes on with a finished file, as if its tail had not been written.
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
  Status failed(const std::string& expected) const;  // by errno

  std::string path_;  // links followed
  std::string part_;  // empty: written directly
  std::string kept_;  // what an older part is called now
  dev_t device_ = 0;  // with the inode: the file that this writes to
  ino_t inode_ = 0;
  std::shared_ptr<SharedOutput> shared_;  // where it is written directly
  DirectText direct_;
  const Interrupt* interrupt_ = nullptr;
  std::unique_ptr<FILE, Closer> file_;
  long whole_ = 0;      // bytes before the tail
  size_t tail_ = 0;     // bytes of the tail
};

/// A file's name with a number in it, such as labels/%06d.txt.
class NumberedName {
 public:
  /// @param pattern has exactly one %d or %0Nd (N from 1 to 18) and no other %.
  static Result<NumberedName> parse(std::string_view pattern);

  std::string of(int64_t number) const;

 private:
  std::string before_, after_;
  size_t digits_ = 0;
};

}  // namespace keepbox
