// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies the images of tensors by the records of objects' pictures.
#include "gst/metas/objecttensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "gst/metas/records/picturerecords.h"
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

ObjectTensor copied(guint od_id, const TensorView& view, const std::string& model) {
  const size_t bytes = view.shape.count().value_or(0) * size_of(view.type);
  const auto* data = static_cast<const uint8_t*>(view.data);
  return {od_id, std::string(view.id), model, view.type, view.shape, {data, data + bytes}};
}

}  // namespace

Result<std::vector<ObjectTensor>> read_object_tensors(GstBuffer* frame) {
  std::vector<ObjectTensor> out;
  FrameTensors tensors;
  KB_TRY(tensors.list_tensors(frame, TensorSelection::kOfObjects));
  tensors.split_images();
  for (const auto& [producer, of] : by_producer(frame, tensors)) {
    if (of.pictures.empty()) continue;
    KB_TRY(tensors.map(of.numbers));
    const std::string& model = tensors.source(of.numbers[0])->model;
    for (const PictureRecord& picture : of.pictures) {
      if (!tensors.select_image(picture.image)) continue;
      for (const TensorView& view : tensors.views()) {
        KB_TRY(check_bounds(view));
        out.push_back(copied(picture.od_id, view, model));
      }
    }
  }
  std::ranges::stable_sort(out, {}, &ObjectTensor::od_id);
  return out;
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
