// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of a format that has one for each class.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "gst/base/outfile.h"

namespace keepbox {

/// A name that stays in its folder: a slash becomes an underscore, and so do the dots of a name of
/// dots alone.
std::string as_file_name(std::string_view name);

/// Files that are opened when there is something for them, and get their names with finish().
class ClassFiles {
 public:
  /// @param pattern has exactly one %s and no other %, such as Task1_%s.txt.
  static Result<ClassFiles> parse(std::string_view pattern);

  /// The path of a class's file.
  std::string of(std::string_view name) const;

  /// @return the file that it wrote to.
  Result<const OutFile*> write(const std::string& name, std::string_view text);
  Status finish();
  /// Goes on with all files after finish().
  Status resume();
  bool any() const { return !files_.empty(); }

 private:
  std::string before_, after_;
  std::map<std::string, OutFile> files_;  // by path
};

}  // namespace keepbox
