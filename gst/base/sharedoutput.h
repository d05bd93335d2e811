// SPDX-License-Identifier: LGPL-2.1-or-later
// Open files that several writers of a process write to directly.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace keepbox {

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

}  // namespace keepbox
