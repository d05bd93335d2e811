// SPDX-License-Identifier: LGPL-2.1-or-later
// Regular files, and nothing that a name may stand for instead: FIFOs and devices are refused at
// once.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/result.h"

namespace keepbox {

/// An open file of the system.
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
  /// Some file systems say only here that they could not store it.
  bool close();
  /// Gives it away, open.
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// A regular file that is read.
struct PlainFile {
  Descriptor file;
  std::string path;  // for messages
  size_t bytes = 0;  // when it was opened

  /// Fills `out` from an offset. kTruncated when the file ends before.
  Status read(size_t offset, std::span<std::byte> out) const;
};

/// Opens what a user named: links are followed. @param hint what to set
Result<PlainFile> open_plain(const std::string& path, std::string hint);

/// Opens what has a name in an open folder, unless it is a link. @param path for messages
Result<PlainFile> open_plain_in(int folder, const std::string& name, std::string path,
                                std::string hint);

/// All of a text file that a user named. kNoResource when it is longer than `most` bytes.
Result<std::string> read_text(const std::string& path, size_t most, std::string hint);

/// Says that a path is something else. @param mode of its file
std::unexpected<Error> not_regular(const std::string& path, mode_t mode, std::string hint);

}  // namespace keepbox
