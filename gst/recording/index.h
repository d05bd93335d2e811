// SPDX-License-Identifier: LGPL-2.1-or-later
// The index of a recording: a line of JSON per frame.
#pragma once

#include <gst/analytics/analytics.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/letterbox.h"
#include "gst/recording/files.h"
#include "gst/recording/timeline.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

// Fields of an index's JSON objects. Errors do not include the position.

using Json = nlohmann::json;                 // for reading
using WrittenJson = nlohmann::ordered_json;  // for writing; lookup is linear, so not for lines with
                                             // many fields

/// Returns the error of a line.
inline std::unexpected<std::string> wrong(std::string found) {
  return std::unexpected(std::move(found));
}

/// Returns a text, "" if it is missing. A NUL is an error, because GStreamer's strings end there.
std::expected<std::string, std::string> text_at(const Json& object, const char* key);

/// Returns an integer within bounds, or std::nullopt if it is missing.
std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high);

// Sources of tensors in a recording: an object in the tensor's entry, and its labels in a file of
// the folder, shared by all tensors with the same labels.
//   frame, input: width and height in pixels; scale, pad: frame = (input - pad) * scale, x and y,
//   exact floats. Either all four are present or none. model, detector: texts; units: pixels or
//   normalized; labels: the file, with one name per line, including empty ones.

/// A tensor's source in an index.
struct IndexedProvenance {
  SharedProvenance facts;  // without labels; nullptr if there is no source
  std::string labels;      // file of its labels, or empty
};

/// @pre source.facts.
WrittenJson to_json(const IndexedProvenance& source);

/// Returns the source of a tensor's entry without its labels, or the error.
std::expected<IndexedProvenance, std::string> source_at(const Json& entry);

/// The labels of a recording's sources, each file read once: a short index may have many sources
/// that share many labels.
class SourceLabels {
 public:
  /// Reads the file that a source names, while an index is read. kTruncated and kNoResource name
  /// the line of the index and the file.
  Status read(const Folder& folder, const IndexedProvenance& source, size_t line);

  /// Returns the source with its labels; equal sources that were requested recently share one
  /// object. @pre read() has read its labels.
  SharedProvenance whole(const IndexedProvenance& source);

 private:
  std::map<std::string, std::vector<std::string>> files_;
  std::vector<std::pair<IndexedProvenance, SharedProvenance>> recent_;
};

/// Returns the text of a label file. Line ends within a name become spaces.
std::string labels_text(const std::vector<std::string>& labels);

// The index of a recording: frames.jsonl, one JSON object per frame, in order.
//   {"frame":0,"pts":0,"duration":33333333,"width":320,"height":320,"tensors":[
//     {"file":"000000.0.npy","id":"yolo-v8-out","type":"float32","dims":[1,10,2100],
//      "dims-order":"row-major","source":{"frame":[1920,1080],"input":[320,320],"scale":[6.0,6.0],
//      "pad":[0.0,70.0],"model":"shapes","detector":"yolov8","units":"pixels",
//      "labels":"000000.labels"}}]}
// pts is the frame's stream time, which equals the PTS of streams that begin at 0. pts and duration
// are omitted if unknown, as are unknown fields of the source.

inline constexpr const char* kIndexName = "frames.jsonl";

struct IndexedTensor {
  std::string file;  // in the folder
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;  // rank 0: only the file defines it
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  IndexedProvenance source;
};

struct IndexedFrame {
  std::optional<int64_t> time;
  int64_t duration = 0;  // 0 unknown
  Size size;             // 0 x 0 unknown
  std::vector<IndexedTensor> tensors;
  bool skipped = false;  // skipped by the inference element on purpose
  size_t line = 0;       // line number in the index
};

/// Returns a line of the index, including its end.
std::string to_line(size_t number, const IndexedFrame& frame);

struct RecordIndex {
  std::vector<IndexedFrame> frames;
  SourceLabels labels;  // labels of the frames' tensors
};

/// Reads all frames and checks all lines. kTruncated names the broken line; file names that leave
/// the folder and invalid label files are errors, too.
Result<RecordIndex> read_index(const Folder& folder);

struct FrameTimes {
  Timeline timeline;   // empty if frames have to be counted
  std::string remark;  // the cause, if the times are unusable
};

FrameTimes times_of(const std::vector<IndexedFrame>& frames);

}  // namespace keepbox
