// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of a stream of boxes, one after the other.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/base/outfile.h"
#include "gst/base/props.h"
#include "gst/metas/boxes.h"
#include "gst/sink/frameinfo.h"
#include "gst/sink/names.h"
#include "gst/sink/writer.h"

namespace keepbox {

// The properties of boxsink, and the writer that they define.

/// Property values as set. Plain data: copied under the object lock.
struct SinkProps : JsonProps {
  int format = 0;  // BoxFormat
  std::string location = "-";
  gint64 max_file_time = 0;  // ns; 0: no limit
  gint64 max_file_size = 0;  // bytes; 0: no limit
  int first_frame = -1;
  std::string image_ids, category_ids;

  const OutputFormat& output() const { return output_format(static_cast<BoxFormat>(format)); }
};

const PropertyTable<SinkProps>& sink_properties();

/// Makes the writer and reads its lists of ids. Errors name the property.
Result<BoxWriter> make_writer(const SinkProps& props);

// Files of a stream one after the other.

/// Decides when the next file begins, and what it is called.
class FileSeries {
 public:
  /// Fails if the location is not a pattern of time, number and class as the format needs it, or if
  /// there are to be several files and it gives all of them the same name.
  static Result<FileSeries> of(const SinkProps& props);

  /// Returns the name of the next file, by the time of day. A name that varies is not that of an
  /// existing file: numbers that are in use are left out, and otherwise -1, -2 ... is added.
  FileName next();

  /// Returns the name of the file of a frame, in formats that have one for each.
  std::string of_frame(int64_t number) const { return pattern_.name(nullptr, number).before; }

  /// True if the location has a time, a number or a class.
  bool varies() const { return pattern_.varies() || files_ == FileSet::kPerClass; }
  /// True if a frame belongs to the next file, in which it then is the first one.
  /// @param time the frame's running time in ns, if known
  /// @param bytes the size of the file with the frame
  bool starts_next_file(std::optional<uint64_t> time, uint64_t bytes);

  /// Notes that the file has text of a frame.
  void note_text() { has_text_ = true; }

 private:
  FilePattern pattern_;
  FileSet files_ = FileSet::kSeries;
  bool utc_ = false;
  uint64_t max_time_ = 0, max_size_ = 0;
  int64_t number_ = 0;             // of the next file
  std::optional<uint64_t> begin_;  // running time of the first frame of the file
  bool has_text_ = false;
};

// State of boxsink between start and stop: the files and counters.

struct Session {
  SinkProps props;
  BoxWriter writer;
  FileSeries series;
  const Interrupt* interrupt;
  std::optional<OutFile> file;        // of FileSet::kSeries
  std::optional<ClassFiles> classes;  // of FileSet::kPerClass
  gint64 number = 0;                  // of the next frame
  std::optional<uint64_t> last_time;  // stream time of the last frame in ns
  bool looked_for_tracker = false;    // upstream
  bool tracked = false;               // there is one, or a box had an id
  bool ended = false;                 // by EOS, after which a seek may bring more frames
  bool failed = false;
  std::vector<Error> warnings;        // returned by take_warnings()
  std::vector<std::string> finished;  // paths that have their final names, not reported yet
  bool noted_older = false;           // a file of an earlier run was reported

  /// Opens the files that properties name. @param interrupt of waits for readers; outlives the
  /// session.
  static Result<Session> open(const SinkProps& props, const Interrupt& interrupt);

  /// Writes the next frame. @param text is scratch memory.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& text);

  /// Gives the files their final names; resume() continues with them.
  Status finish() { return finish_with(writer.tail()); }
  Status resume();

  /// Returns the files that have no final name yet, as text; empty if there are none.
  std::string unnamed() const;

  /// Removes an unfinished file in which there is no frame. @param frames written to all files.
  /// @return true if there was one.
  bool discard_empty(guint64 frames);

  /// Returns messages about the files, each once.
  std::vector<Error> take_warnings() { return std::exchange(warnings, {}); }

 private:
  Status open_next();
  Status begin_next(std::string_view tail);
  Status finish_with(std::string_view tail);
  Status write_classes(const FrameInfo& frame, std::span<const FrameBox> boxes);
  Status write_file_of_frame(const std::string& text);
  void note_older(const OutFile& opened);
};

}  // namespace keepbox
