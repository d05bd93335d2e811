// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of a buffer, from either of GStreamer's two metas.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

namespace keepbox {

/// Iterates over the tensors of a frame: those of each GstTensorMeta, then those of
/// GstAnalyticsTensorMtd (tensormtd.h). An mtd that is related to a detection (a mask, an
/// embedding) is skipped, because it belongs to that object, as is an mtd on data that came in a
/// GstTensorMeta.
class TensorWalk {
 public:
  /// @param buffer must outlive this, and must not get metas or mtds meanwhile; nullptr has no
  /// tensors.
  explicit TensorWalk(GstBuffer* buffer);

  /// Returns the next tensor, or nullptr at the end. Both kinds use one struct, owned by the
  /// buffer.
  const GstTensor* next();

  /// Returns an identity that is equal for tensors that a producer attached at once: one
  /// GstTensorMeta, or a single mtd.
  const void* attachment() const { return attachment_; }

 private:
  const GstTensor* next_of_metas();
  const GstTensor* next_of_mtds();

  GstBuffer* buffer_;
  gpointer meta_state_ = nullptr, mtd_state_ = nullptr;
  GstTensorMeta* meta_ = nullptr;
  size_t index_ = 0;  // next index in meta_
  bool metas_done_ = false;
  const void* attachment_ = nullptr;
};

/// True if two mtds of one meta are related in either direction.
bool are_related(const GstAnalyticsMtd& a, const GstAnalyticsMtd& b);

}  // namespace keepbox
