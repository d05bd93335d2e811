// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that get their name only when they are whole.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace keepbox {

/// A file being written: under PATH.part until finish() gives it the name PATH, replacing what had
/// it. "-" is stdout; stdout, devices and FIFOs are written directly. Without finish(), as after
/// an error, PATH.part stays and PATH is as it was.
class OutFile {
 public:
  /// Fails when the folder is missing or not writable, or another writer has PATH.part.
  static Result<OutFile> open(const std::string& path);

  /// Hands text to the system at once: an error here is about this text.
  Status write(std::string_view text);

  /// Ends the file with a tail, sees to it that all of it is stored, and names it.
  Status finish(std::string_view tail);

  /// Goes on with a finished file, as if its tail had not been written.
  Status resume();

 private:
  struct Closer {
    void operator()(FILE* file) const;
  };
  Status open_part();
  Status failed(const std::string& expected) const;  // by errno

  std::string path_;  // links followed
  std::string part_;  // empty: written directly
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
