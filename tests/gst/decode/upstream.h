// SPDX-License-Identifier: LGPL-2.1-or-later
// Small tensors in the layout of YOLO models, and their boxes from boxdecode.
#pragma once

#include <string>
#include <vector>

#include "tests/gst/frames.h"

namespace keepbox::test {

inline constexpr const char* kVga = "video/x-raw,format=RGBA,width=640,height=480,framerate=30/1";

/// A candidate: its box by centre and size, and the values after it.
struct Candidate {
  float x, y, w, h;
  std::vector<float> rest;  // class scores, mask coefficients
};

/// [1, 4 + rest, candidates]: the values of all candidates are adjacent.
inline Tensor planes(const std::vector<Candidate>& list, const std::string& id = "yolo-v8-out") {
  const size_t fields = 4 + list[0].rest.size(), count = list.size();
  Tensor out{std::vector<float>(fields * count), {1, fields, count}, id};
  for (size_t i = 0; i < count; ++i) {
    const float box[] = {list[i].x, list[i].y, list[i].w, list[i].h};
    for (size_t field = 0; field < fields; ++field)
      out.values[field * count + i] = field < 4 ? box[field] : list[i].rest[field - 4];
  }
  return out;
}

/// [1, candidates, 5 + classes]: rows with objectness first in `rest`.
inline Tensor objectness_rows(const std::vector<Candidate>& list) {
  Tensor out{{}, {1, list.size(), 4 + list[0].rest.size()}, "yolox-out"};
  for (const Candidate& each : list) {
    out.values.insert(out.values.end(), {each.x, each.y, each.w, each.h});
    out.values.insert(out.values.end(), each.rest.begin(), each.rest.end());
  }
  return out;
}

inline void attach_as(GstBuffer* frame, const Tensor& tensor, GstTensorDimOrder order) {
  add_tensor(frame, tensor.id.c_str(), DataType::kFloat32, tensor.shape, order,
             data_buffer(tensor.values.data(), bytes_of(tensor)));
}

inline GstBuffer* frame_of(const std::vector<Tensor>& tensors) {
  GstBuffer* frame = empty_frame().release();
  for (const Tensor& tensor : tensors) attach_as(frame, tensor, GST_TENSOR_DIM_ORDER_COL_MAJOR);
  return frame;
}

/// Returns the detections of a boxdecode with these properties.
inline std::vector<Od> detect(const std::vector<Tensor>& tensors,
                              const std::string& properties = "", const char* caps = kVga) {
  Harness h("boxdecode " + properties, caps);
  const Buffer out = h.run(frame_of(tensors));
  EXPECT_TRUE(out) << h.error();
  return out ? ods(out) : std::vector<Od>{};
}

inline std::vector<std::string> labels(const std::vector<Od>& found) {
  std::vector<std::string> out;
  for (const Od& od : found) out.push_back(od.label);
  return out;
}

}  // namespace keepbox::test
