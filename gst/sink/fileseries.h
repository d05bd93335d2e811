// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of a stream one after the other.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "gst/sink/filepattern.h"
#include "gst/sink/sinkprops.h"

namespace keepbox {

/// Decides when the next file begins, and what it is called.
class FileSeries {
 public:
  /// Fails if the location is not a pattern of time, number and class as the format needs it, or if
  /// there are to be several files and it gives all of them the same name.
  static Result<FileSeries> of(const SinkProps& props);

  /// Returns the name of the next file, by the time of day. A name that varies is not that of an
  /// existing file: numbers that are in use are left out, and otherwise -1, -2 ... is added.
  FileName next();

  /// True if the location has a time, a number or a class.
  bool varies() const { return pattern_.varies() || of_classes_; }
  /// True if a frame belongs to the next file, in which it then is the first one.
  /// @param time the frame's running time in ns, if known
  /// @param bytes the size of the file with the frame
  bool starts_next_file(std::optional<uint64_t> time, uint64_t bytes);

  /// Notes that the file has text of a frame.
  void note_text() { has_text_ = true; }

 private:
  FilePattern pattern_;
  bool of_classes_ = false, utc_ = false;
  uint64_t max_time_ = 0, max_size_ = 0;
  int64_t number_ = 0;             // of the next file
  std::optional<uint64_t> begin_;  // running time of the first frame of the file
  bool has_text_ = false;
};

}  // namespace keepbox
