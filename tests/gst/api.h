// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as applications hand them over, and the boxes that they get back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gst/api/keepbox.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

/// Of a float32 tensor whose numbers lie at `data`, in system memory.
inline KeepboxTensor describe(const Tensor& tensor, const void* data) {
  KeepboxTensor out{.id = tensor.id.c_str(),
                    .data_type = GST_TENSOR_DATA_TYPE_FLOAT32,
                    .n_dims = tensor.shape.rank(),
                    .data = data,
                    .size = bytes_of(tensor)};
  std::ranges::copy(tensor.shape.dims(), out.dims);
  return out;
}
inline KeepboxTensor describe(const Tensor& tensor) {
  return describe(tensor, tensor.values.data());
}

/// A frame that borrows the tensor. @param notify as the API has it. Null, with a failure, when the
/// tensor is not taken.
inline Buffer lend(const KeepboxTensor& tensor, GDestroyNotify notify = nullptr,
                   gpointer user_data = nullptr) {
  Buffer frame = empty_frame();
  g_autoptr(GError) error = nullptr;
  const bool done = keepbox_buffer_add_tensor(frame.get(), &tensor, notify, user_data, &error);
  EXPECT_EQ(done, error == nullptr);
  EXPECT_TRUE(done) << error->message;
  return done ? std::move(frame) : nullptr;
}

/// Why a tensor is not taken; "" when it is.
inline std::string refusal(GstBuffer* buffer, const KeepboxTensor* tensor,
                           GDestroyNotify notify = nullptr, gpointer user_data = nullptr) {
  g_autoptr(GError) error = nullptr;
  const bool done = keepbox_buffer_add_tensor(buffer, tensor, notify, user_data, &error);
  EXPECT_EQ(done, error == nullptr);
  if (error == nullptr) return {};
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR) << error->message;
  return error->message;
}

/// A notify that counts its calls.
inline void count_call(gpointer counter) { ++*static_cast<int*>(counter); }

inline std::vector<KeepboxBox> api_boxes(const Buffer& frame) {
  std::vector<KeepboxBox> out(keepbox_buffer_get_boxes(frame.get(), nullptr, 0));
  EXPECT_EQ(keepbox_buffer_get_boxes(frame.get(), out.data(), static_cast<guint>(out.size())),
            out.size());
  return out;
}

/// Are they the boxes that the project's own reading of the frame gives?
inline void expect_same(const std::vector<KeepboxBox>& got, const std::vector<FrameBox>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const KeepboxBox& a = got[i];
    const FrameBox& b = want[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(a.x, b.box.x1);
    EXPECT_EQ(a.y, b.box.y1);
    EXPECT_EQ(a.width, b.box.x2 - b.box.x1);
    EXPECT_EQ(a.height, b.box.y2 - b.box.y1);
    EXPECT_EQ(a.score, b.score);
    EXPECT_EQ(a.angle, b.angle);
    EXPECT_EQ(a.class_id, b.class_id ? static_cast<gint>(*b.class_id) : -1);
    EXPECT_EQ(a.anchor, b.anchor ? static_cast<gint>(*b.anchor) : -1);
    EXPECT_STREQ(a.label, g_quark_to_string(b.label));
  }
}

}  // namespace keepbox::test
