// SPDX-License-Identifier: LGPL-2.1-or-later
// Iterates over both kinds of tensors.
#include "gst/tensors/tensorwalk.h"

#include "gst/tensors/tensormtd.h"

namespace keepbox {
namespace {

/// Most mtds of objects are part of theirs, which is found fast.
bool is_of_object(const GstAnalyticsMtd& mtd) {
  gpointer state = nullptr;
  GstAnalyticsMtd od;
  if (gst_analytics_relation_meta_get_direct_related(mtd.meta, mtd.id, GST_ANALYTICS_REL_TYPE_ANY,
                                                     gst_analytics_od_mtd_get_mtd_type(), &state,
                                                     &od))
    return true;
  state = nullptr;
  while (gst_analytics_relation_meta_iterate(mtd.meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &od))
    if (are_related(mtd, od)) return true;
  return false;
}

bool is_in_tensor_meta(GstBuffer* buffer, const GstBuffer* data) {
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, gst_tensor_meta_api_get_type())) {
    auto* tensors = reinterpret_cast<GstTensorMeta*>(meta);
    for (size_t i = 0; i < tensors->num_tensors; ++i)
      if (const GstTensor* tensor = gst_tensor_meta_get(tensors, i);
          tensor != nullptr && tensor->data != nullptr && tensor->data == data)
        return true;
  }
  return false;
}

}  // namespace

TensorWalk::TensorWalk(GstBuffer* buffer) : buffer_(buffer), metas_done_(buffer == nullptr) {}

const GstTensor* TensorWalk::next() {
  const GstTensor* tensor = metas_done_ ? nullptr : next_of_metas();
  return tensor != nullptr ? tensor : next_of_mtds();
}

const GstTensor* TensorWalk::next_of_metas() {
  while (true) {
    while (meta_ != nullptr && index_ < meta_->num_tensors)
      if (const GstTensor* tensor = gst_tensor_meta_get(meta_, index_++)) return tensor;
    attachment_ = meta_ = reinterpret_cast<GstTensorMeta*>(
        gst_buffer_iterate_meta_filtered(buffer_, &meta_state_, gst_tensor_meta_api_get_type()));
    index_ = 0;
    metas_done_ = meta_ == nullptr;
    if (metas_done_) return nullptr;
  }
}

const GstTensor* TensorWalk::next_of_mtds() {
  if (buffer_ == nullptr) return nullptr;
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer_);
  if (meta == nullptr) return nullptr;
  GstAnalyticsMtd mtd;
  while (iterate_tensor_mtds(meta, &mtd_state_, &mtd)) {
    const GstTensor* tensor = tensor_of_mtd(mtd);
    if (tensor == nullptr || is_of_object(mtd) || is_in_tensor_meta(buffer_, tensor->data))
      continue;
    attachment_ = tensor;
    return tensor;
  }
  return nullptr;
}

bool are_related(const GstAnalyticsMtd& a, const GstAnalyticsMtd& b) {
  return gst_analytics_relation_meta_get_relation(a.meta, a.id, b.id) !=
             GST_ANALYTICS_REL_TYPE_NONE ||
         gst_analytics_relation_meta_get_relation(a.meta, b.id, a.id) !=
             GST_ANALYTICS_REL_TYPE_NONE;
}

}  // namespace keepbox
