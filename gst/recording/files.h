// SPDX-License-Identifier: LGPL-2.1-or-later
// Folders of recordings, and NumPy's files in them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/infile.h"
#include "core/base/result.h"
#include "core/base/tensor.h"

namespace keepbox {

// NumPy array files, format versions 1 to 3 (numpy.lib.format), C order, little endian.

/// Returns the header of a file with such an array, padded so that the data is aligned to 64 bytes.
/// bfloat16, which NumPy lacks, is written as uint16.
std::string npy_header(DataType type, const Shape& shape);

struct NpyArray {
  DataType type = DataType::kFloat32;
  Shape shape;
  size_t offset = 0;  // of the data in the file
};

/// Parses a header. Errors are kTruncated or kUnsupported, and name the cause.
Result<NpyArray> parse_npy(std::string_view file);

// The folder of a recording. Symbolic links, FIFOs and devices in it are rejected.

/// Calls the function for each line that is not empty, numbered from 1, until it fails.
/// kTruncated for lines of more than 1 MiB, or with a NUL.
Status each_line(const PlainFile& file,
                 const std::function<Status(size_t, std::string_view)>& function);

/// A recording's folder, locked shared for reading or exclusively for writing.
class Folder {
 public:
  enum class Use { kRead, kWrite };

  /// Opens and locks the folder. kNoResource if it is missing or in use.
  static Result<Folder> open(const std::string& path, Use use);

  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const;

  /// @param name must be is_plain_name().
  Result<PlainFile> read(const std::string& name) const;
  /// Writes a new file, replacing any file of that name.
  Status write(const std::string& name, std::span<const std::span<const std::byte>> parts) const;
  /// Returns kNoResource if something other than a regular file has the name.
  Status check(const std::string& name) const;
  bool has(const std::string& name) const;
  void remove(const std::string& name) const;
  /// Returns the names of the regular files.
  std::vector<std::string> names() const;

 private:
  std::string path_;
  Descriptor folder_;
};

/// True if the name stays in its folder.
bool is_plain_name(std::string_view name);

}  // namespace keepbox
