// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads files, with errors that name them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace keepbox {

// Reads regular files only: FIFOs and devices are rejected at once.

/// Owns an open file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }
  /// Closes the file; some file systems report write errors only here.
  bool close();
  /// Releases ownership of the open descriptor.
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// A regular file open for reading.
struct PlainFile {
  Descriptor file;
  std::string path;  // for messages
  size_t bytes = 0;  // at the time of opening

  /// Fills `out` from an offset. kTruncated if the file is too short.
  Status read(size_t offset, std::span<std::byte> out) const;
};

/// Opens a file named by the user, following links. @param hint what to set
Result<PlainFile> open_plain(const std::string& path, std::string hint);

/// Opens a file in an open folder, unless it is a link. @param path for messages
Result<PlainFile> open_plain_in(int folder, const std::string& name, std::string path,
                                std::string hint);

/// Reads a text file named by the user, without a byte order mark and with "\n" at the end of
/// lines. kNoResource if it is longer than `max_bytes`, or UTF-16.
Result<std::string> read_text(const std::string& path, size_t max_bytes, std::string hint);

/// Reports that a path is not a regular file. @param mode its file's mode_t
std::unexpected<Error> not_regular(const std::string& path, unsigned mode, std::string hint);

// Errors of files, folders and other resources.

/// Returns a kNoResource error.
std::unexpected<Error> file_error(std::string what, std::string hint = {});

/// Returns what to do if too many files are open. @param reason the system's text. @param otherwise
/// returned for other reasons.
std::string limit_hint(const std::string& reason, std::string otherwise);

/// Returns what to do about a file that is there and that the system does not open for reading: as
/// limit_hint(), or that it may not be read.
std::string opening_hint(const std::string& reason, std::string otherwise);

}  // namespace keepbox
