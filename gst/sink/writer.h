// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes boxes of frames in a format.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/boxes.h"
#include "gst/metas/counts.h"
#include "gst/metas/objecttensors.h"
#include "gst/sink/categories.h"
#include "gst/sink/names.h"

namespace keepbox {

// Writes detections in formats that evaluation and analysis tools read.

/// The formats: a row of output_formats() each, in this order.
enum class BoxFormat {
  kJsonl,  // one object per frame, as DL Streamer's gvametaconvert, plus frame and anchor
  kCoco,   // one array of results, for pycocotools loadRes(); enclosing boxes of oriented ones
  kMot,    // MOTChallenge; enclosing boxes of oriented ones; pixels are counted from 0
  kKitti,  // 16 columns of object results, one file per frame; enclosing boxes of oriented ones
  kCsv,    // a header and one line per box; unknown values are empty
  kDota,   // results of DOTA's task 1, four corners per box; one file per class
  kEventsJsonl,  // one object per event of boxcount
  kEventsCsv,    // a header and one line per event
};

struct WriterOptions {
  std::string tags;                // a JSON object, in each JSON line; empty: omitted
  bool write_empty = true;         // also a JSON line for frames without boxes
  std::vector<CocoId> images;      // image_id per frame; empty: its number
  std::vector<std::string> names;  // image names per frame, for kDota
  std::vector<CocoId> categories;  // set by the user, for CategoryIds
};

/// A frame; only kJsonl writes more of it than number and size.
struct FrameInfo {
  int64_t number = 0;                    // as it is written
  std::optional<uint64_t> timestamp;     // stream time, ns
  Size size;                             // at least 1x1
  std::string source;                    // what it is of; empty: omitted
  std::string wall_time;                 // ISO 8601; empty: omitted
  std::optional<uint64_t> sender_time;   // clock of an RTP sender, ns since 1970
  std::optional<uint64_t> running_time;  // ns, not written: decides when the next file begins
  bool skipped = false;  // a model did not look at it: that it has no boxes means nothing
  bool tracked = false;  // a tracker follows its boxes: kMot leaves out those without an id, of
                         // which a frame may have several, because evaluators refuse -1 twice
  /// Undecoded tensors of objects in the order of their od_id; unset: not written.
  std::optional<std::vector<ObjectTensor>> tensors{};
  BoxLabels labels{};                   // results about the whole frame, borrowed
  const FrameCounts* counts = nullptr;  // of lines and zones, borrowed; nullptr: none
};

/// Appends the text of frames in a format, with what it keeps of earlier frames.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;

  /// Appends the next frame, which may be empty; each result begins with the separator of the
  /// format. Fails if the lists of ids have no entry for an image or a class.
  virtual Status write(const FrameInfo& frame, std::span<const FrameBox> boxes,
                       std::string& out) = 0;
  /// Appends the next frame to the text of each class, by its word, in formats with a file per
  /// class.
  virtual Status write_classes(const FrameInfo& frame, std::span<const FrameBox> boxes,
                               std::map<std::string, std::string>& by_class);
  /// Moves news about ids and words to `out`.
  virtual void take_messages(CategoryMessages& out);
};

/// Properties of an output format: a row of the table in writer.cpp.
struct OutputFormat {
  enum class Images { kNumbers, kIds, kNames };  // what image-ids= has: nothing, or per frame

  BoxFormat format;
  const char* name;   // as a value of format=
  const char* blurb;  // of that value
  std::unique_ptr<FrameWriter> (*make)(WriterOptions options);
  FileSet files = FileSet::kSeries;
  int first_frame = 0;           // its number
  std::string_view head{};       // of a file
  std::string_view separator{};  // before each result except the first
  std::string_view foot{};       // of a file; a line end at its start ends the last result
  Images images = Images::kNumbers;
  bool categories = false;  // has the ids of category-ids=
  bool tensors = false;     // has the undecoded tensors of objects
  bool tracked = false;     // needs FrameInfo::tracked
  bool events = false;      // has what happens at lines and in zones, also after the last frame
};

std::span<const OutputFormat> output_formats();
const OutputFormat& output_format(BoxFormat format);

/// Writes floats as the shortest decimals that read back as the same float, and labels as UTF-8.
class BoxWriter {
 public:
  BoxWriter(BoxFormat format, WriterOptions options);

  /// Return the text at the start of a file, and at its end after the frames so far.
  std::string_view head() const { return format_->head; }
  std::string_view tail() const;

  /// Appends the text of the next frame, which may be empty. Fails if the lists of ids have no
  /// entry for an image or a class.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);

  /// Appends the next frame to the text of each class, by its word, in formats with a file per
  /// class. Fails if the list of image names has no entry for the frame.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes,
               std::map<std::string, std::string>& by_class);

  /// Starts another file with the text of the last frame, which the previous one does not have.
  void start_file(std::string& first);

  /// Returns news about the ids of categories and objects, and the words of classes.
  CategoryMessages take_messages();

 private:
  const OutputFormat* format_;
  std::unique_ptr<FrameWriter> writer_;
  bool first_ = true;  // no result is in the file
};

/// Appends a line of kJsonl.
void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, std::string& out);

/// Returns when something happened, in stream time in ns; std::nullopt if it is unknown.
std::optional<uint64_t> note_time(const CountNote& note, const FrameInfo& frame);
inline double seconds_of(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

/// Appends the numbers of a line, and those of one of the zones of a frame, as JSON objects of JSON
/// Lines.
void write_line(const LineCount& line, std::string& out);
void write_zone(const ZoneCount& zone, const FrameCounts& all, std::string& out);

/// Appends a line of kEventsJsonl.
void write_event(const CountNote& note, const FrameInfo& frame, const WriterOptions& options,
                 std::string& out);

/// Appends a box as an element of `objects` in JSON Lines.
void write_object(const FrameBox& box, Size frame, std::string& out);

/// The image and category that a COCO result refers to.
struct CocoSubject {
  int64_t image = 0, category = 0;
  Size frame;  // size of the picture, for run lengths
};
/// Writes a single COCO result, without separators.
void write_coco_result(const CocoSubject& of, const FrameBox& box, std::string& out);

}  // namespace keepbox
