// SPDX-License-Identifier: LGPL-2.1-or-later
// Regular files, and nothing that a name may stand for instead: FIFOs and devices are refused at
// once, and inside a recording's folder symbolic links too.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
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
  /// Calls for each line that is not empty, numbered from 1, until one fails.
  /// kTruncated for lines of more than 1 MiB, or with a NUL.
  Status each_line(const std::function<Status(size_t, std::string_view)>& function) const;
};

/// Opens what a user named: links are followed.
Result<PlainFile> open_plain(const std::string& path);

/// A recording's folder while somebody reads it (many may) or writes it (one, and nobody reads).
class Folder {
 public:
  enum class Use { kRead, kWrite };

  /// kNoResource when it is missing or in use.
  static Result<Folder> open(const std::string& path, Use use);

  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const;

  /// @param name must be is_plain_name().
  Result<PlainFile> read(const std::string& name) const;
  /// Writes a new file in place of one that has the name.
  Status write(const std::string& name, std::span<const std::span<const std::byte>> parts) const;
  /// kNoResource when something has the name that is not a regular file.
  Status check(const std::string& name) const;
  bool has(const std::string& name) const;
  void remove(const std::string& name) const;

 private:
  std::string path_;
  Descriptor folder_;
};

/// Does a name stay in its folder?
bool is_plain_name(std::string_view name);

}  // namespace keepbox
