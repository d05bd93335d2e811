// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors with a source.
#pragma once

#include "gst/tensors/provenance.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

inline constexpr const char* kHd = "video/x-raw,format=RGB,width=1920,height=1080";

/// A model of rows: 1920 x 1080 fitted as 640 x 360 into the middle of 640 x 640.
inline TensorProvenance rows_model() {
  return {.geometry = {{1920, 1080}, {640, 640}, 3, 3, 0, 140},
          .model = "rows",
          .detector = "yolov10",
          .units = Units::kPixels,
          .labels = {"cat", "dog", "", "bird"}};
}

/// Attaches a tensor with a source.
inline void attach(GstBuffer* to, const Tensor& tensor, SharedProvenance source) {
  GstBuffer* data = data_buffer(tensor.values.data(), bytes_of(tensor));
  if (source != nullptr) set_provenance(data, std::move(source));
  add_tensor(to, tensor.id.c_str(), DataType::kFloat32, tensor.shape,
             GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
}

inline Tensor plain_rows(const std::vector<Row>& list, const std::string& id = "") {
  Tensor out = rows(list);
  out.id = id;
  return out;
}

inline const std::vector<Row> kOne{{100, 240, 300, 340, 0.9f, 1}};

inline GstBuffer* with_source(const TensorProvenance& source, const std::vector<Row>& list = kOne) {
  GstBuffer* out = empty_frame().release();
  attach(out, plain_rows(list), std::make_shared<const TensorProvenance>(source));
  return out;
}

}  // namespace keepbox::test
