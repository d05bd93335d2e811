// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors attached to a buffer, of any producer, in any memory.
#include "gst/tensors/tensors.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "gst/base/library.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {
namespace {

struct TypePair {
  GstTensorDataType gst;
  DataType core;
};

constexpr TypePair kTensorTypes[] = {
    {GST_TENSOR_DATA_TYPE_INT8, DataType::kInt8},
    {GST_TENSOR_DATA_TYPE_INT16, DataType::kInt16},
    {GST_TENSOR_DATA_TYPE_INT32, DataType::kInt32},
    {GST_TENSOR_DATA_TYPE_INT64, DataType::kInt64},
    {GST_TENSOR_DATA_TYPE_UINT8, DataType::kUInt8},
    {GST_TENSOR_DATA_TYPE_UINT16, DataType::kUInt16},
    {GST_TENSOR_DATA_TYPE_UINT32, DataType::kUInt32},
    {GST_TENSOR_DATA_TYPE_UINT64, DataType::kUInt64},
    {GST_TENSOR_DATA_TYPE_FLOAT16, DataType::kFloat16},
    {GST_TENSOR_DATA_TYPE_BFLOAT16, DataType::kBFloat16},
    {GST_TENSOR_DATA_TYPE_FLOAT32, DataType::kFloat32},
    {GST_TENSOR_DATA_TYPE_FLOAT64, DataType::kFloat64},
};

/// Always adds a new meta: before 1.26.6, gst_buffer_add_tensor_meta() returns an existing one,
/// which a second producer would overwrite.
GstTensorMeta* add_meta(GstBuffer* buffer) {
  return reinterpret_cast<GstTensorMeta*>(
      gst_buffer_add_meta(buffer, gst_tensor_meta_get_info(), nullptr));
}

bool copies_tensors() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor > 27 || (minor == 27 && micro >= 1);
}

/// @param moved may be nullptr.
void copy_tensors(GstBuffer* copy, GstBuffer* original, const MovedProvenance* moved = nullptr) {
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(original, &state, gst_tensor_meta_api_get_type())) {
    auto* from = reinterpret_cast<GstTensorMeta*>(meta);
    auto** tensors = g_new(GstTensor*, from->num_tensors);
    for (size_t i = 0; i < from->num_tensors; ++i) {
      tensors[i] = gst_tensor_copy(gst_tensor_meta_get(from, i));
      if (moved != nullptr) move_source(tensors[i], copy, *moved);
    }
    gst_tensor_meta_set(add_meta(copy), static_cast<guint>(from->num_tensors), tensors);
  }
}

bool is_of_objects(const GstTensor& tensor) {
  const SharedProvenance source = provenance_of(tensor.data);
  return source != nullptr && source->objects;
}

}  // namespace

void FrameTensors::unmap() {
  for (size_t i = 0; i < count_; ++i) gst_buffer_unmap(mappings_[i].buffer, &mappings_[i].info);
  count_ = 0;
  context_ = {};
  downloaded_ = false;
}

Status FrameTensors::list_tensors(GstBuffer* buffer, TensorSelection which) {
  unmap();
  listed_count_ = 0;
  image_ = 0;
  const DecodedNote note(which == TensorSelection::kAll ? nullptr : buffer);
  TensorWalk walk(buffer);
  while (const GstTensor* tensor = walk.next()) {
    if (!is_readable(*tensor) || note.has(tensor->data)) continue;
    const bool any = which != TensorSelection::kOfFrames && which != TensorSelection::kOfObjects;
    if (!any && is_of_objects(*tensor) != (which == TensorSelection::kOfObjects)) continue;
    if (listed_count_ == kMax)
      return reject(ErrorKind::kUnsupported,
                    "The frame has more than " + std::to_string(kMax) + " tensors",
                    "put each decoder directly after its inference element, which lists only "
                    "tensors that no other has decoded, and leave outputs that are not needed out "
                    "of the models");
    sources_[listed_count_] = nullptr;
    images_[listed_count_] = 1;
    TensorView& view = listed_[listed_count_];
    view = {.type = *to_data_type(tensor->data_type),
            .shape = Shape(std::span(tensor->dims, tensor->num_dims))};
    view.id = id_of(*tensor);
    tensors_[listed_count_++] = {tensor, walk.attachment()};
  }
  return {};
}

DeviceContext FrameTensors::common_context(std::span<const uint32_t> which) const {
  DeviceContext common;
  for (size_t i = 0; i < which.size(); ++i) {
    DeviceContext context = DeviceContext::of(tensors_[which[i]].tensor->data);
    if (i > 0 && common != context) return {};
    common = std::move(context);
  }
  return common;
}

bool FrameTensors::map_data(GstBuffer* data, GstMapInfo* info, TensorView& view) {
  if (data == nullptr) return false;
  if (context_) return map_cuda(data, info, view);
  downloaded_ = downloaded_ || DeviceContext::of(data);
  await_producer(data);
  return gst_buffer_map(data, info, GST_MAP_READ);
}

Status FrameTensors::map_one(uint32_t number) {
  TensorView view = listed_[number];
  GstBuffer* data = tensors_[number].tensor->data;
  Mapping& mapping = mappings_[count_];
  mapping.buffer = data;
  mapping.number = number;
  if (!map_data(data, &mapping.info, view)) {
    if (DeviceContext::of(data))
      return reject(ErrorKind::kNoResource,
                    "The CUDA memory of tensor " + view.to_string() + " cannot be read",
                    "see nvidia-smi and GST_DEBUG=cudaallocator:6");
    return reject(ErrorKind::kTruncated,
                  "The data of tensor " + view.to_string() + " cannot be mapped",
                  "attach a readable buffer to the tensor in the producer");
  }
  views_[count_] = view;
  show_image(count_++);
  return {};
}

Status FrameTensors::map(std::span<const uint32_t> which, MemorySpace preferred) {
  unmap();
  if (preferred == MemorySpace::kCuda) context_ = common_context(which);
  for (const uint32_t number : which) KB_TRY(map_one(number));
  return {};
}

void FrameTensors::split_images() {
  for (size_t i = 0; i < listed_count_; ++i)
    images_[i] = std::exchange(listed_[i].shape, slice_shape(listed_[i].shape))[0];
}

/// Makes a view show the selected image. @param mapped its index in views_.
void FrameTensors::show_image(size_t mapped) {
  const GstMapInfo& info = mappings_[mapped].info;
  TensorView& view = views_[mapped];
  const size_t each = view.shape.count().value_or(0) * size_of(view.type);
  const size_t begin = image_ != 0 && each > info.size / image_ ? info.size : image_ * each;
  view.data = info.data + begin;
  view.bytes = info.size - begin;
}

bool FrameTensors::select_image(size_t image) {
  if (count_ == 0) return false;
  for (size_t i = 0; i < count_; ++i)
    if (image >= images_[mappings_[i].number]) return false;
  image_ = image;
  for (size_t i = 0; i < count_; ++i) show_image(i);
  return true;
}

Status FrameTensors::map_all(MemorySpace preferred) {
  std::array<uint32_t, kMax> all;
  std::iota(all.begin(), all.end(), 0u);
  return map(std::span(all).first(listed_count_), preferred);
}

void FrameTensors::mark_decoded(GstBuffer* buffer, std::span<const uint32_t> which) const {
  for (size_t i = 0; i < listed_count_; ++i)
    if (std::ranges::any_of(which, [&](uint32_t number) {
          return tensors_[number].attachment == tensors_[i].attachment;
        }))
      note_decoded(buffer, tensors_[i].tensor->data);
}

std::string_view id_of(const GstTensor& tensor) {
  const gchar* id = g_quark_to_string(tensor.id);
  return id != nullptr ? id : "";
}

bool is_readable(const GstTensor& tensor) {
  return to_data_type(tensor.data_type) && tensor.num_dims > 0 &&
         tensor.num_dims <= Shape::kMaxRank;
}

std::optional<DataType> to_data_type(GstTensorDataType type) {
  const auto* pair = std::ranges::find(kTensorTypes, type, &TypePair::gst);
  return pair == std::end(kTensorTypes) ? std::nullopt : std::optional(pair->core);
}

GstTensorDataType to_gst(DataType type) {
  return std::ranges::find(kTensorTypes, type, &TypePair::core)->gst;
}

void add_tensors(GstBuffer* buffer, std::span<const NewTensor> tensors) {
  auto** out = g_new(GstTensor*, tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NewTensor& tensor = tensors[i];
    // gst_tensor_new_simple() rejects data of a wrong size, which replay must reproduce.
    out[i] = gst_tensor_alloc(tensor.shape.rank());
    out[i]->id = tensor.id.empty() ? 0 : g_quark_from_string(tensor.id.c_str());
    out[i]->layout = GST_TENSOR_LAYOUT_CONTIGUOUS;
    out[i]->data_type = to_gst(tensor.type);
    out[i]->data = tensor.data;
    out[i]->dims_order = tensor.order;
    std::ranges::copy(tensor.shape.dims(), out[i]->dims);
  }
  gst_tensor_meta_set(add_meta(buffer), static_cast<guint>(tensors.size()), out);
}

void add_tensor(GstBuffer* buffer, const char* id, DataType type, const Shape& shape,
                GstTensorDimOrder order, GstBuffer* data) {
  const NewTensor tensor{id != nullptr ? id : "", type, shape, order, data};
  add_tensors(buffer, {&tensor, 1});
}

GstBuffer* shared_data(GstBuffer* data, SharedProvenance source) {
  GstBuffer* out = gst_buffer_new();
  gst_buffer_copy_into(out, data, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  for (guint i = 0; i < gst_buffer_n_memory(data); ++i)  // gst_buffer_copy() may copy memory
    gst_buffer_append_memory(out, gst_buffer_get_memory(data, i));
  gst_buffer_add_parent_buffer_meta(out, data);  // keeps the memory from returning to its pool
  set_provenance(out, std::move(source));
  return out;
}

GstBuffer* copy_with_tensors(GstBuffer* buffer) {
  GstBuffer* copy = gst_buffer_copy(buffer);
  if (!copies_tensors()) copy_tensors(copy, buffer);
  return copy;
}

void carry_tensors(GstBuffer* from, GstBuffer* to, const MovedProvenance& moved) {
  copy_note(from, to);
  copy_tensors(to, from, &moved);
}

void move_source(GstTensor* tensor, GstBuffer* to, const MovedProvenance& moved) {
  const SharedProvenance from = provenance_of(tensor->data);
  SharedProvenance source = from != nullptr ? moved(from) : nullptr;
  if (source == from) return;
  GstBuffer* data = shared_data(tensor->data, std::move(source));
  if (DecodedNote(to).has(tensor->data)) note_decoded(to, data);
  gst_buffer_unref(std::exchange(tensor->data, data));
}

bool holds_tensors(GType api) {
  return api == gst_tensor_meta_api_get_type() || is_decoded_note(api);
}

GstFlowReturn writable_with_tensors(GstBaseTransform*, GstBuffer* input, GstBuffer** output) {
  *output = gst_buffer_is_writable(input) ? input : copy_with_tensors(input);
  return GST_FLOW_OK;
}

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

Shape slice_shape(const Shape& shape, size_t frames) {
  const auto dims = shape.dims();
  std::vector<size_t> out(dims.begin(), dims.end());
  out[0] = frames;
  return Shape(std::span<const size_t>(out));
}

}  // namespace keepbox
