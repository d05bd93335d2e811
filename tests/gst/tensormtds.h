// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors in GStreamer 1.28's GstAnalyticsTensorMtd, for tests that are built with an older
// version.
#pragma once

#include <dlfcn.h>

#include "tests/gst/frames.h"

namespace keepbox::test {

using AddTensorMtd = gboolean (*)(GstAnalyticsRelationMeta*, GQuark, GstTensorDataType, GstBuffer*,
                                  GstTensorDimOrder, gsize, gsize*, GstAnalyticsMtd*);

/// Returns GStreamer's function that adds one, or nullptr before 1.28.
inline AddTensorMtd add_tensor_mtd() {
  return reinterpret_cast<AddTensorMtd>(
      dlsym(RTLD_DEFAULT, "gst_analytics_relation_meta_add_tensor_mtd_simple"));
}

/// Attaches a tensor like DL Streamer: row-major, with or without an id. @param data transfer full.
/// @pre add_tensor_mtd().
inline GstAnalyticsMtd attach_mtd(GstBuffer* frame, const Tensor& tensor, GstBuffer* data) {
  std::vector<gsize> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  GstAnalyticsMtd mtd{};
  EXPECT_TRUE(add_tensor_mtd()(gst_buffer_add_analytics_relation_meta(frame),
                               g_quark_from_string(tensor.id.empty() ? nullptr : tensor.id.c_str()),
                               GST_TENSOR_DATA_TYPE_FLOAT32, data, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
                               dims.size(), dims.data(), &mtd));
  return mtd;
}

inline GstAnalyticsMtd attach_mtd(GstBuffer* frame, const Tensor& tensor) {
  return attach_mtd(frame, tensor, data_buffer(tensor.values.data(), bytes_of(tensor)));
}

/// Tests that are skipped before GStreamer 1.28.
class WithTensorMtds : public ::testing::Test {
 protected:
  void SetUp() override {
    if (add_tensor_mtd() == nullptr)
      GTEST_SKIP() << "GstAnalyticsTensorMtd came with GStreamer 1.28";
  }
};

}  // namespace keepbox::test
