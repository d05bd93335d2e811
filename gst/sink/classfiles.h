// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of a format that has one file per class.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "gst/base/outfile.h"
#include "gst/sink/filepattern.h"

namespace keepbox {

/// Returns a file name without folders: slashes become underscores, as do the dots of a name that
/// consists of dots.
std::string as_file_name(std::string_view name);

/// Files that are opened on first use, and get their final names in finish().
class ClassFiles {
 public:
  /// @param name of each file, around that of its class.
  explicit ClassFiles(FileName name) : name_(std::move(name)) {}

  /// Returns the path of a class's file.
  std::string of(std::string_view name) const;

  /// @return the file that it wrote to.
  Result<const OutFile*> write(const std::string& name, std::string_view text);
  Status finish();
  /// Continues with all files after finish().
  Status resume();
  bool any() const { return !files_.empty(); }
  const std::map<std::string, OutFile>& by_path() const { return files_; }

  /// Returns the size that a class's file would have with more text.
  uint64_t size_with(const std::string& name, std::string_view text) const;

 private:
  FileName name_;
  std::map<std::string, OutFile> files_;  // by path
};

}  // namespace keepbox
