// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as applications pass them in, and the boxes that they get back.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gst/api/keepbox.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

struct FreeInfo {
  void operator()(KeepboxTensorInfo* info) const { keepbox_tensor_info_free(info); }
};
struct FreeBoxes {
  void operator()(KeepboxBox** boxes) const { g_free(boxes); }
};

/// A tensor with its description, as in an application.
struct Lent {
  std::unique_ptr<KeepboxTensorInfo, FreeInfo> info;
  const void* data = nullptr;
  gsize size = 0;
};

inline Lent describe(const char* id, GstTensorDataType type, const std::vector<gsize>& dims,
                     const void* data, gsize size) {
  return {std::unique_ptr<KeepboxTensorInfo, FreeInfo>(
              keepbox_tensor_info_new(id, type, dims.data(), dims.size())),
          data, size};
}

/// Describes a float32 tensor in system memory at `data`.
inline Lent describe(const Tensor& tensor, const void* data) {
  const auto dims = tensor.shape.dims();
  return describe(tensor.id.c_str(), GST_TENSOR_DATA_TYPE_FLOAT32, {dims.begin(), dims.end()}, data,
                  bytes_of(tensor));
}
inline Lent describe(const Tensor& tensor) { return describe(tensor, tensor.values.data()); }

/// Returns the error for a tensor that is rejected; "" if it is accepted.
inline std::string refusal(GstBuffer* buffer, const Lent& lent, GDestroyNotify notify = nullptr,
                           gpointer user_data = nullptr) {
  g_autoptr(GError) error = nullptr;
  const bool done = keepbox_buffer_add_tensor(buffer, lent.info.get(), lent.data, lent.size, notify,
                                              user_data, &error);
  EXPECT_EQ(done, error == nullptr);
  if (error == nullptr) return {};
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR) << error->message;
  return error->message;
}

/// Returns a frame that borrows the tensor. @param notify as in the API. Null, with a test failure,
/// if the tensor is rejected.
inline Buffer lend(const Lent& lent, GDestroyNotify notify = nullptr,
                   gpointer user_data = nullptr) {
  Buffer frame = empty_frame();
  const std::string why = refusal(frame.get(), lent, notify, user_data);
  EXPECT_EQ(why, "");
  return why.empty() ? std::move(frame) : nullptr;
}

/// Counts its calls; a notify.
inline void count_call(gpointer counter) { ++*static_cast<int*>(counter); }

/// The boxes of a buffer.
class ApiBoxes {
 public:
  explicit ApiBoxes(GstBuffer* buffer) : boxes_(keepbox_buffer_get_boxes(buffer, &count_)) {}
  size_t size() const { return count_; }
  const KeepboxBox* operator[](size_t i) const { return boxes_.get()[i]; }

 private:
  guint count_ = 0;
  std::unique_ptr<KeepboxBox*, FreeBoxes> boxes_;
};
inline ApiBoxes api_boxes(const Buffer& frame) { return ApiBoxes(frame.get()); }

/// Checks that a box equals the project's own reading of the frame.
inline void expect_same(const KeepboxBox* got, const FrameBox& want) {
  gfloat x = 0, y = 0, width = 0, height = 0;
  keepbox_box_get_rect(got, &x, &y, &width, &height);
  EXPECT_EQ(x, want.box.x1);
  EXPECT_EQ(y, want.box.y1);
  EXPECT_EQ(width, want.box.x2 - want.box.x1);
  EXPECT_EQ(height, want.box.y2 - want.box.y1);
  EXPECT_EQ(keepbox_box_get_score(got), want.score);
  EXPECT_EQ(keepbox_box_get_angle(got), want.angle);
  EXPECT_EQ(keepbox_box_is_held(got), want.held);
  EXPECT_EQ(keepbox_box_is_predicted(got), want.predicted);
  EXPECT_EQ(keepbox_box_get_class_id(got), want.class_id ? static_cast<gint>(*want.class_id) : -1);
  EXPECT_EQ(keepbox_box_get_anchor(got), want.anchor ? static_cast<gint>(*want.anchor) : -1);
  EXPECT_EQ(keepbox_box_get_od_id(got), want.od_id);
  EXPECT_STREQ(keepbox_box_get_label(got), g_quark_to_string(want.label));
  if (!want.unnamed) {
    EXPECT_STREQ(keepbox_box_get_model(got), g_quark_to_string(want.model));
  }
  guint64 id = 1;
  EXPECT_EQ(keepbox_box_get_tracking_id(got, &id), want.tracking_id.has_value());
  EXPECT_EQ(id, want.tracking_id.value_or(0));
}

inline void expect_same(const ApiBoxes& got, const std::vector<FrameBox>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same(got[i], want[i]);
  }
}

}  // namespace keepbox::test
