// SPDX-License-Identifier: LGPL-2.1-or-later
// The text of detections in the formats that evaluation and analysis tools read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "gst/metas/analytics.h"
#include "gst/sink/categories.h"
#include "gst/sink/classwords.h"

namespace keepbox {

enum class BoxFormat {
  kJsonl,  // one object a frame, as DL Streamer's gvametaconvert writes it, with frame and anchor
  kCoco,   // one array of results, for pycocotools loadRes(): turned boxes as what encloses them
  kMot,    // MOTChallenge, as kCoco of turned boxes; pixels count from 0 as in every format
  kKitti,  // 16 columns of the object benchmark's results, as kCoco of turned boxes; a file a frame
  kCsv,    // a header and one line a box; empty where unknown
  kDota,   // results of DOTA's task 1, four corners a box; one file a class
};

struct WriterOptions {
  std::string source;              // of each JSON line; empty: left out
  std::string tags;                // a JSON object on one line, of each JSON line; empty: left out
  bool write_empty = true;         // a JSON line for a frame without boxes too
  std::vector<CocoId> images;      // image_id of the 1st, 2nd ... frame; empty: its number
  std::vector<std::string> names;  // the same for kDota: image names
  std::vector<CocoId> categories;  // of the user, for CategoryIds
};

/// A frame, with what kJsonl alone writes of it behind its size.
struct FrameInfo {
  int64_t number = 0;                   // as it is written
  std::optional<uint64_t> timestamp;    // stream time, ns
  Size size;                            // at least 1x1
  std::string wall_time;                // ISO 8601; empty: left out
  std::optional<uint64_t> sender_time;  // of an RTP sender, ns since 1970
};

/// Writes floats as the shortest decimals that read back as the same float, labels as UTF-8.
class BoxWriter {
 public:
  BoxWriter(BoxFormat format, WriterOptions options);

  /// What a file begins with, and what it ends with after the frames so far.
  std::string_view head() const;
  std::string_view tail() const;

  /// Appends the text of the next frame; nothing where the format has none for it.
  /// Fails for kCoco alone: an image or a class that the lists of ids lack.
  /// @pre the format is not kDota.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);

  /// Of kDota: appends the text of the next frame to that of each class, by its word. Fails where
  /// the list of names has none for the frame.
  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes,
               std::map<std::string, std::string>& by_class);

  /// What is new about the category ids of kCoco, and the words of kDota.
  CategoryNews take_news();

 private:
  Status write_coco(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);
  Result<int64_t> image_id(const FrameInfo& frame) const;

  BoxFormat format_;
  WriterOptions options_;
  CategoryIds categories_;
  ClassWords words_;
  size_t frames_ = 0;   // written so far
  size_t results_ = 0;  // of kCoco
};

}  // namespace keepbox
