// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of files: patterns with numbers, and a file per class.
#pragma once

#include <glib.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/base/outfile.h"

namespace keepbox {

// File names made of a pattern, the time of day and a number.

/// A path around the name of a class.
struct FileName {
  std::string before, after;  // without a class, `before` is the whole path

  /// True if there is such a file, of any class.
  bool exists(bool of_classes) const;
};

/// The files of a format.
enum class FileSet {
  kSeries,    // one after the other
  kPerFrame,  // the name has the number of the frame
  kPerClass,  // the name has that of the class
};

/// A pattern such as boxes-%Y%m%d-%05d.jsonl.
class FilePattern {
 public:
  /// @param pattern may have conversions of strftime, as g_date_time_format() has them, one
  ///        number, %0Nd (N from 1 to 18), and %%. %d is a number too, but the day of the month if
  ///        there are other conversions of time.
  /// @param files kPerFrame requires the number and nothing else; kPerClass requires one %s, in the
  ///        place of which classes have their names.
  static Result<FilePattern> parse(std::string_view pattern, FileSet files);

  /// True if the names depend on time or number.
  bool varies() const { return timed_ || numbered_; }
  bool numbered() const { return numbered_; }

  FileName name(GDateTime* time, int64_t number) const;

 private:
  enum class Kind { kText, kTime, kNumber, kClass };
  struct Part {
    Kind kind;
    std::string text;   // or the conversion of time
    size_t digits = 0;  // of the number, at least
  };
  bool add_conversion(std::string_view& rest, FileSet files);
  bool resolve_day_or_number();

  std::vector<Part> parts_;
  bool timed_ = false, numbered_ = false, classes_ = false;
};

// Files of a format that has one file per class.

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
