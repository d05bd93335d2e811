// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of a buffer, whichever of GStreamer's two metas they came in.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

namespace keepbox {

/// Goes over the tensors of a frame: those of each GstTensorMeta, then those of
/// GstAnalyticsTensorMtd, which is in GStreamer from 1.28 on and found by name, so that what is
/// built with 1.26 reads it. An mtd that is related to a detection (a mask, an embedding) is left
/// out, because it is that object's and not the frame's, and so is one on data that came in a
/// GstTensorMeta.
class TensorWalk {
 public:
  /// @param buffer must outlive this, and gets no meta and no mtd meanwhile; nullptr has no
  /// tensors.
  explicit TensorWalk(GstBuffer* buffer);

  /// The next one, or nullptr at the end. Both kinds have one struct, owned by the buffer.
  const GstTensor* next();

  /// Equal for tensors that a producer attached in one piece: a GstTensorMeta, or an mtd by itself.
  const void* parcel() const { return parcel_; }

 private:
  const GstTensor* next_of_metas();
  const GstTensor* next_of_mtds();

  GstBuffer* buffer_;
  gpointer meta_state_ = nullptr, mtd_state_ = nullptr;
  GstTensorMeta* meta_ = nullptr;
  size_t index_ = 0;  // of the next one in meta_
  bool metas_done_ = false;
  const void* parcel_ = nullptr;
};

/// Is it that type of mtd? Never before GStreamer 1.28.
bool is_tensor_mtd(GstAnalyticsMtdType type);

/// Are two mtds of one meta related, in either direction?
bool are_related(const GstAnalyticsMtd& a, const GstAnalyticsMtd& b);

}  // namespace keepbox
