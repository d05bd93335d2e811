// SPDX-License-Identifier: LGPL-2.1-or-later
// The index of a recording: frames.jsonl, one JSON object per frame, in order.
//   {"frame":0,"pts":0,"duration":33333333,"width":320,"height":320,"tensors":[
//     {"file":"000000.0.npy","id":"yolo-v8-out","type":"float32","dims":[1,10,2100],
//      "dims-order":"row-major","source":{"frame":[1920,1080],"input":[320,320],"scale":[6.0,6.0],
//      "pad":[0.0,70.0],"model":"shapes","detector":"yolov8","units":"pixels",
//      "labels":"000000.labels"}}]}
// pts is the frame's stream time, which equals the PTS of streams that begin at 0. pts and duration
// are omitted if unknown, as are unknown fields of the source (recordsource.h).
#pragma once

#include <gst/analytics/analytics.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/letterbox.h"
#include "gst/recording/folder.h"
#include "gst/recording/recordsource.h"
#include "gst/recording/timeline.h"

namespace keepbox {

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
