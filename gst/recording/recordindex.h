// SPDX-License-Identifier: LGPL-2.1-or-later
// The index of a recording: frames.jsonl, one JSON object a frame in their order.
//   {"frame":0,"pts":0,"duration":33333333,"width":320,"height":320,"tensors":[
//     {"file":"000000.0.npy","id":"yolo-v8-out","type":"float32","dims":[1,10,2100],
//      "dims-order":"row-major","source":{"frame":[1920,1080],"input":[320,320],"scale":[6.0,6.0],
//      "pad":[0.0,70.0],"model":"shapes","detector":"yolov8","units":"pixels",
//      "labels":"000000.labels"}}]}
// pts is the frame's stream time, which is the PTS of streams that begin at 0; it and duration are
// left out where they are unknown, and so is of the source what nobody said (recordsource.h).
#pragma once

#include <gst/analytics/analytics.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/letterbox.h"
#include "core/result.h"
#include "core/tensor.h"
#include "gst/recording/folder.h"
#include "gst/recording/recordsource.h"
#include "gst/recording/timeline.h"

namespace keepbox {

inline constexpr const char* kIndexName = "frames.jsonl";

struct IndexedTensor {
  std::string file;  // in the folder
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;  // of rank 0: only the file says
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  IndexedSource source;
};

struct IndexedFrame {
  std::optional<int64_t> time;
  int64_t duration = 0;  // 0 unknown
  Size size;             // 0 x 0 unknown
  std::vector<IndexedTensor> tensors;
  bool skipped = false;  // an inference element left it out on purpose
  size_t line = 0;  // where it stands
};

/// A line of the index with its end.
std::string to_line(size_t number, const IndexedFrame& frame);

struct RecordIndex {
  std::vector<IndexedFrame> frames;
  SourceLabels labels;  // of their tensors
};

/// All frames. kTruncated names the line that is broken, of which all are checked: a name that
/// leaves the folder is, too, and so is a file of labels that is none.
Result<RecordIndex> read_index(const Folder& folder);

struct FrameTimes {
  Timeline timeline;   // empty when frames have to be counted
  std::string remark;  // why, when only some of the times are of use
};

FrameTimes times_of(const std::vector<IndexedFrame>& frames);

}  // namespace keepbox
