// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches kernels for each image, and waits once.
#include "kernels/cuda/payload/payload_stage.h"

#include <algorithm>

#include "core/run/masks.h"

namespace keepbox::cuda {

Status CudaPayloadStage::prepare(const Plan& plan) {
  images_.resize(plan.layout.images);
  each_ = plan.payload.count;
  kept_capacity_ = plan.rules.kept_capacity;
  numbers_ = plan.payload.masks.enlarged;
  if (plan.payload.has(Moves::kAsMask)) return {};  // their values stay on the device
  auto values = allocate_host(images_.size() * kept_capacity_ * each_ * sizeof(float));
  if (!values) return std::unexpected(values.error());
  values_ = std::move(*values);
  return {};
}

void CudaPayloadStage::abandon() {
  for (HostBlob* blob : {&values_, &host_places_, &host_masks_}) (void)blob->release();
  for (DeviceBlob* blob : {&places_, &factors_, &masks_}) (void)blob->release();
}

/// @return the number of pixels of all images' masks.
size_t CudaPayloadStage::place(const Plan& plan,
                               std::span<const std::span<const Detection>> boxes) {
  size_t pixels = 0, count = 0;
  for (size_t i = 0; i < images_.size(); ++i) {
    Image& image = images_[i];
    image.first_box = count;
    image.first_pixel = pixels;
    image.count = boxes[i].size();
    count += image.count;
    if (plan.payload.has(Moves::kAsMask))
      pixels += place_masks(plan, static_cast<uint32_t>(i), boxes[i], image.places);
  }
  return pixels;
}

Status CudaPayloadStage::grow(size_t boxes, size_t bytes) {
  const auto device = [](DeviceBlob& blob, size_t size) -> Status {
    auto made = allocate_device(size);
    if (!made) return std::unexpected(made.error());
    blob = std::move(*made);
    return {};
  };
  const auto host = [](HostBlob& blob, size_t size) -> Status {
    auto made = allocate_host(size);
    if (!made) return std::unexpected(made.error());
    blob = std::move(*made);
    return {};
  };
  if (boxes > box_room_) {
    box_room_ = 0;
    const size_t room = std::max<size_t>(boxes, 64);
    KB_TRY(host(host_places_, room * sizeof(MaskPlace)));
    KB_TRY(device(places_, room * sizeof(MaskPlace)));
    KB_TRY(device(factors_, room * each_ * sizeof(float)));
    box_room_ = room;
  }
  if (bytes > byte_room_) {
    byte_room_ = 0;
    const size_t room = bytes + bytes / 2;
    KB_TRY(host(host_masks_, room));
    KB_TRY(device(masks_, room));
    byte_room_ = room;
  }
  return {};
}

namespace {

/// True if the prototypes are aligned, unquantised float32.
bool is_plain(const Plan& plan, const Pieces& pieces) {
  const auto tensor = static_cast<size_t>(plan.layout[FieldId::kPrototypes].tensor);
  const TensorForm& form = plan.forms[tensor];
  return form.type == DataType::kFloat32 && form.scale == 1 && form.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(pieces.data[tensor]) % sizeof(float) == 0;
}

}  // namespace

GatherArgs CudaPayloadStage::args_of(const Plan& plan, const Pieces& pieces, uint32_t image) const {
  const Image& of = images_[image];
  GatherArgs args{.pieces = pieces,
                  .count = static_cast<uint32_t>(of.count),
                  .image = image,
                  .moves = plan.payload.kind.moves,
                  .each = static_cast<uint32_t>(each_),
                  .points = plan.payload.points,
                  .masks = plan.payload.masks};
  if (values_ != nullptr)
    args.values = reinterpret_cast<float*>(values_.get()) + image * kept_capacity_ * each_;
  if (!plan.payload.has(Moves::kAsMask)) return args;
  if (is_plain(plan, pieces)) args.prototypes = Numbers::kFloat;
  args.values = reinterpret_cast<float*>(factors_.get()) + of.first_box * each_;
  args.places = reinterpret_cast<const MaskPlace*>(places_.get()) + of.first_box;
  if (numbers_) args.numbers = reinterpret_cast<float*>(masks_.get()) + of.first_pixel;
  else args.inside = reinterpret_cast<uint8_t*>(masks_.get()) + of.first_pixel;
  return args;
}

Status CudaPayloadStage::run(const Plan& plan, const DevicePlan& device_plan, const Pieces& pieces,
                             std::span<const std::span<const Detection>> boxes,
                             cudaStream_t stream) {
  const bool masks = plan.payload.has(Moves::kAsMask);
  const size_t bytes = place(plan, boxes) * (numbers_ ? sizeof(float) : 1);
  const size_t count = images_.back().first_box + images_.back().count;
  if (count == 0) return {};
  if (masks) {
    KB_TRY(grow(count, bytes));
    auto* places = reinterpret_cast<MaskPlace*>(host_places_.get());
    for (const Image& image : images_) places = std::ranges::copy(image.places, places).out;
    KB_TRY_CUDA(cudaMemcpyAsync(places_.get(), host_places_.get(), count * sizeof(MaskPlace),
                                cudaMemcpyHostToDevice, stream));
  }
  for (uint32_t image = 0; image < images_.size(); ++image) {
    GatherArgs args = args_of(plan, pieces, image);
    args.boxes = boxes[image].data();
    DevicePlan own = device_plan;
    own.letterbox = plan.letterbox_of(image);
    KB_TRY_CUDA(launch_values(own, args, stream));
    if (masks) KB_TRY_CUDA(launch_masks(own, args, stream));
  }
  if (masks && bytes != 0)
    KB_TRY_CUDA(
        cudaMemcpyAsync(host_masks_.get(), masks_.get(), bytes, cudaMemcpyDeviceToHost, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

PayloadOutput CudaPayloadStage::of(uint32_t image) const {
  const Image& from = images_[image];
  PayloadOutput out{.places = from.places};
  if (values_ != nullptr)
    out.values = {reinterpret_cast<const float*>(values_.get()) + image * kept_capacity_ * each_,
                  from.count * each_};
  if (numbers_) out.masks.numbers = reinterpret_cast<float*>(host_masks_.get()) + from.first_pixel;
  else out.masks.inside = reinterpret_cast<uint8_t*>(host_masks_.get()) + from.first_pixel;
  return out;
}

}  // namespace keepbox::cuda
