// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the functions of GStreamer 1.28's tensor mtd, and calls them.
#include "gst/tensors/tensormtd.h"

#include <vector>

#include "gst/base/functionbyname.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

struct TensorMtdApi {
  GstAnalyticsMtdType (*type)() = nullptr;
  GstTensor* (*tensor)(const GstAnalyticsMtd*) = nullptr;
  gboolean (*add)(GstAnalyticsRelationMeta*, GQuark, GstTensorDataType, GstBuffer*,
                  GstTensorDimOrder, gsize, gsize*, GstAnalyticsMtd*) = nullptr;
};

/// Returns the functions, or nullptr before GStreamer 1.28.
const TensorMtdApi* tensor_api() {
  static TensorMtdApi api;
  static const bool whole =
      find_function(api.type, "gst_analytics_tensor_mtd_get_mtd_type") &&
      find_function(api.tensor, "gst_analytics_tensor_mtd_get_tensor") &&
      find_function(api.add, "gst_analytics_relation_meta_add_tensor_mtd_simple");
  return whole ? &api : nullptr;
}

}  // namespace

bool has_tensor_mtds() { return tensor_api() != nullptr; }

bool is_tensor_mtd(GstAnalyticsMtdType type) {
  return tensor_api() != nullptr && tensor_api()->type() == type;
}

bool iterate_tensor_mtds(GstAnalyticsRelationMeta* meta, gpointer* state, GstAnalyticsMtd* mtd) {
  return tensor_api() != nullptr &&
         gst_analytics_relation_meta_iterate(meta, state, tensor_api()->type(), mtd);
}

const GstTensor* tensor_of_mtd(const GstAnalyticsMtd& mtd) {
  return is_tensor_mtd(gst_analytics_mtd_get_mtd_type(&mtd)) ? tensor_api()->tensor(&mtd) : nullptr;
}

void add_tensor_of_object(GstAnalyticsRelationMeta* meta, guint od_id, const NewTensor& tensor) {
  const auto dims = tensor.shape.dims();
  std::vector<gsize> sizes(dims.begin(), dims.end());  // GStreamer takes what is not const
  GstAnalyticsMtd mtd{};
  if (!tensor_api()->add(meta, tensor.id.empty() ? 0 : g_quark_from_string(tensor.id.c_str()),
                         to_gst(tensor.type), tensor.data, tensor.order, sizes.size(), sizes.data(),
                         &mtd))
    return;
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, od_id, mtd.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, mtd.id, od_id);
}

}  // namespace keepbox
