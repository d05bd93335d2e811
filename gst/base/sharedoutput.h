// SPDX-License-Identifier: LGPL-2.1-or-later
// Open files that several writers of a process write directly.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace keepbox {

/// What a writer has to write directly.
struct DirectText {
  std::string waiting;     // nothing of it is written yet
  uint64_t number = 0;     // of the text that was begun last, in its SharedOutput
};

/// A device and inode that is written directly. Texts of several writers come one after the other,
/// also where an interrupt leaves half of one: the next writer completes it first. From any thread.
class SharedOutput {
 public:
  /// Of an open file; the same for all writers of a file as long as there is one.
  static std::shared_ptr<SharedOutput> of(int file);

  /// Writes a piece that there is room for: of the text that was begun last, else of the one that
  /// waits, which is begun with it. Does not wait. @return 0, or what errno was.
  int write_piece(int file, DirectText& text);

  /// True if nothing of a writer's text is left.
  bool is_written(const DirectText& text) const;

 private:
  size_t piece_of(int file) const;

  mutable std::mutex mutex_;
  std::string text_;    // begun last
  size_t done_ = 0;     // bytes of it
  uint64_t number_ = 0;
};

}  // namespace keepbox
