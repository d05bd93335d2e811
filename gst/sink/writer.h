// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes boxes of frames in a format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/boxes.h"
#include "gst/metas/objecttensors.h"
#include "gst/sink/categories.h"
#include "gst/sink/classes.h"

namespace keepbox {

// Writes detections in formats that evaluation and analysis tools read.

enum class BoxFormat {
  kJsonl,  // one object per frame, as DL Streamer's gvametaconvert, plus frame and anchor
  kCoco,   // one array of results, for pycocotools loadRes(); enclosing boxes of oriented ones
  kMot,    // MOTChallenge; enclosing boxes of oriented ones; pixels are counted from 0
  kKitti,  // 16 columns of object results, one file per frame; enclosing boxes of oriented ones
  kCsv,    // a header and one line per box; unknown values are empty
  kDota,   // results of DOTA's task 1, four corners per box; one file per class
};

struct WriterOptions {
  std::string source;              // in each JSON line; empty: omitted
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
  std::string wall_time;                 // ISO 8601; empty: omitted
  std::optional<uint64_t> sender_time;   // clock of an RTP sender, ns since 1970
  std::optional<uint64_t> running_time;  // ns, not written: decides when the next file begins
  bool skipped = false;  // a model did not look at it: that it has no boxes means nothing
  bool tracked = false;  // a tracker follows its boxes: kMot leaves out those without an id, of
                         // which a frame may have several, because evaluators refuse -1 twice
  /// Undecoded tensors of objects in the order of their od_id; unset: not written.
  std::optional<std::vector<ObjectTensor>> tensors{};
  BoxLabels labels{};  // results about the whole frame, borrowed
};

/// Writes floats as the shortest decimals that read back as the same float, and labels as UTF-8.
class BoxWriter {
 public:
  BoxWriter(BoxFormat format, WriterOptions options);

  /// Return the text at the start of a file, and at its end after the frames so far.
  std::string_view head() const;
  std::string_view tail() const;

  /// Appends the text of the next frame, which may be empty. Fails only for kCoco, if the lists of
  /// ids have no entry for an image or a class.
  /// @pre the format is not kDota.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);

  /// Appends the next frame (kDota) to the text of each class, by its word. Fails if the
  /// list of image names has no entry for the frame.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes,
               std::map<std::string, std::string>& by_class);

  /// Starts another file with the text of the last frame, which the previous one does not have.
  void start_file(std::string& first);

  /// Returns news about the category ids of kCoco, the ids of kMot and the words of kDota.
  CategoryMessages take_messages();

 private:
  Status write_coco(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);
  Result<int64_t> image_id(const FrameInfo& frame) const;

  BoxFormat format_;
  WriterOptions options_;
  CategoryIds categories_;
  ClassWords words_;
  MotIds mot_ids_;
  size_t frames_ = 0;  // written so far
  bool first_ = true;  // no result is in the file, for kCoco
};

// The formats of BoxWriter; each function appends a frame's text as documented there.

void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, std::string& out);

/// Appends a box as an element of `objects` in JSON Lines.
void write_object(const FrameBox& box, Size frame, std::string& out);

/// The image and category that a COCO result refers to.
struct CocoSubject {
  int64_t image = 0, category = 0;
  Size frame;  // size of the picture, for run lengths
};
/// Writes a single COCO result, without separators.
void write_coco_result(const CocoSubject& of, const FrameBox& box, std::string& out);

/// @param ids of the stream.
void write_mot(const FrameInfo& frame, std::span<const FrameBox> boxes, MotIds& ids,
               std::string& out);
void write_kitti(std::span<const FrameBox> boxes, std::string& out);

inline constexpr std::string_view kCsvHeader =
    "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n";
void write_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);

/// Appends the lines of an image to the text of each class, by its word.
void write_dota(const std::string& image, std::span<const FrameBox> boxes, ClassWords& words,
                std::map<std::string, std::string>& by_class);

}  // namespace keepbox
