// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies the images of tensors by the records of objects' pictures.
#include "gst/metas/objecttensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

/// The undecoded tensors of a producer.
struct UndecodedTensors {
  std::vector<PictureRecord> pictures;
  std::vector<uint32_t> numbers;  // in listed()
};

std::map<guint64, UndecodedTensors> by_producer(GstBuffer* frame, const FrameTensors& tensors) {
  std::map<guint64, UndecodedTensors> out;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i) {
    const guint64 producer = tensors.source(i)->producer;
    const auto [of, added] = out.try_emplace(producer);
    if (added) of->second.pictures = read_pictures(frame, producer);
    of->second.numbers.push_back(i);
  }
  return out;
}

ObjectTensor copied(guint od_id, const TensorView& view, const std::string& model,
                    GstTensorDimOrder order) {
  const size_t bytes = view.shape.count().value_or(0) * size_of(view.type);
  const auto* data = static_cast<const uint8_t*>(view.data);
  return {od_id, std::string(view.id), model, view.type, view.shape, order, {data, data + bytes}};
}

/// Returns a buffer that owns the bytes.
GstBuffer* buffer_of(std::vector<uint8_t> bytes) {
  auto* own = new std::vector<uint8_t>(std::move(bytes));
  return gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, own->data(), own->size(), 0, own->size(), own,
      [](gpointer data) { delete static_cast<std::vector<uint8_t>*>(data); });
}

}  // namespace

Result<std::vector<ObjectTensor>> read_object_tensors(GstBuffer* frame,
                                                      std::optional<guint64> producer) {
  std::vector<ObjectTensor> out;
  FrameTensors tensors;
  KB_TRY(tensors.list_tensors(frame, TensorSelection::kOfObjects));
  tensors.split_images();
  for (const auto& [number, of] : by_producer(frame, tensors)) {
    if (of.pictures.empty() || producer.value_or(number) != number) continue;
    KB_TRY(tensors.map(of.numbers));
    const std::string& model = tensors.source(of.numbers[0])->model;
    for (const PictureRecord& picture : of.pictures) {
      if (!tensors.select_image(picture.image)) continue;
      for (size_t i = 0; i < of.numbers.size(); ++i) {
        const TensorView& view = tensors.views()[i];
        KB_TRY(check_bounds(view));
        out.push_back(copied(picture.od_id, view, model, tensors.order(of.numbers[i])));
      }
    }
  }
  std::ranges::stable_sort(out, {}, &ObjectTensor::od_id);
  return out;
}

Result<size_t> attach_object_tensors(GstBuffer* frame, guint64 producer) {
  KB_ASSIGN(std::vector<ObjectTensor> tensors, read_object_tensors(frame, producer));
  const size_t found = tensors.size();
  tensors.resize(std::min(found, room_on(frame)));
  if (tensors.empty()) return found;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  for (ObjectTensor& each : tensors)
    add_tensor_of_object(meta, each.od_id,
                         {.id = each.id,
                          .type = each.type,
                          .shape = each.shape,
                          .order = each.order,
                          .data = buffer_of(std::move(each.data))});
  return found - tensors.size();
}

void normalize_l2(ObjectTensor& tensor) {
  if (!is_floating(tensor.type)) return;
  const TensorView view = tensor.view();
  const size_t count = view.shape.count().value_or(0);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += double{load(view, i)} * load(view, i);
  const double length = std::sqrt(sum);
  if (!(length > 0) || !std::isfinite(length)) return;
  std::vector<uint8_t> data(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(load(view, i) / length);
    std::memcpy(data.data() + i * sizeof value, &value, sizeof value);
  }
  tensor.data = std::move(data);
  tensor.type = DataType::kFloat32;
}

}  // namespace keepbox
