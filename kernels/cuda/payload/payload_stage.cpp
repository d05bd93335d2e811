// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches kernels for each image, and waits once.
#include "kernels/cuda/payload/payload_stage.h"

#include <algorithm>
#include <cstring>

namespace keepbox::cuda {
namespace {

constexpr size_t kPlaceWords = sizeof(MaskPlace) / sizeof(uint32_t);

/// Counts the parts of masks that warps enlarge.
void count_parts(std::span<const MaskPlace> places, std::vector<uint32_t>& first_part) {
  uint32_t parts = 0;
  first_part.clear();
  for (const MaskPlace& place : places) {
    first_part.push_back(parts);
    parts += place.words() * ((place.height + kWarpRows - 1) / kWarpRows);
  }
  first_part.push_back(parts);
}

/// Makes memory for at least `count` elements, and half as much again.
template <class Blob>
Status grow_to(size_t count, size_t& room, Blob& blob, size_t element, auto allocate) {
  if (count <= room) return {};
  room = 0;
  const size_t next = count + count / 2;
  KB_ASSIGN(blob, allocate(next * element));
  room = next;
  return {};
}

/// True if the prototypes are aligned, unquantised float32.
bool is_plain(const Plan& plan, const Pieces& pieces) {
  const auto tensor = static_cast<size_t>(plan.layout[FieldId::kPrototypes].tensor);
  const TensorForm& form = plan.forms[tensor];
  return form.type == DataType::kFloat32 && form.scale == 1 && form.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(pieces.data[tensor]) % sizeof(float) == 0;
}

template <class T>
T* at(const auto& blob, size_t index) {
  return reinterpret_cast<T*>(blob.get()) + index;
}

}  // namespace

/// Returns the words that describe the masks to the device.
size_t CudaPayloadStage::Image::place_words() const {
  return (places.bits.size() + places.sums.size()) * kPlaceWords + first_part.size();
}

Status CudaPayloadStage::prepare(const Plan& plan) {
  images_.resize(plan.layout.images);
  each_ = plan.payload.count;
  kept_capacity_ = plan.rules.kept_capacity;
  enlarged_ = plan.payload.masks.enlarged;
  if (plan.payload.has(Moves::kAsMask)) return {};  // their values stay on the device
  KB_ASSIGN(values_, allocate_host(images_.size() * kept_capacity_ * each_ * sizeof(float)));
  return {};
}

void CudaPayloadStage::abandon() {
  for (HostBlob* blob : {&values_, &host_places_, &host_bits_}) (void)blob->release();
  for (DeviceBlob* blob : {&places_, &factors_, &sums_, &bits_}) (void)blob->release();
}

CudaPayloadStage::Totals CudaPayloadStage::place(
    const Plan& plan, std::span<const std::span<const Detection>> boxes) {
  Totals all;
  for (size_t i = 0; i < images_.size(); ++i) {
    Image& image = images_[i];
    image.count = boxes[i].size();
    image.first_box = all.boxes;
    image.first_word = all.words;
    image.first_sum = all.sums;
    image.first_place = all.place_words;
    all.boxes += image.count;
    if (!plan.payload.has(Moves::kAsMask)) continue;
    place_masks(plan, static_cast<uint32_t>(i), boxes[i], image.places);
    if (enlarged_) count_parts(image.places.bits, image.first_part);
    all.words += image.places.words;
    all.sums += image.places.numbers;
    all.place_words += image.place_words();
  }
  return all;
}

Status CudaPayloadStage::grow(const Totals& totals) {
  KB_TRY(grow_to(totals.boxes, room_.boxes, factors_, each_ * sizeof(float), allocate_device));
  KB_TRY(grow_to(totals.sums, room_.sums, sums_, sizeof(float), allocate_device));
  if (totals.place_words > room_.place_words) {
    size_t host_room = 0;
    room_.place_words = 0;
    KB_TRY(grow_to(totals.place_words, host_room, host_places_, sizeof(uint32_t), allocate_host));
    KB_TRY(
        grow_to(totals.place_words, room_.place_words, places_, sizeof(uint32_t), allocate_device));
  }
  if (totals.words > room_.words) {
    size_t host_room = 0;
    room_.words = 0;
    KB_TRY(grow_to(totals.words, host_room, host_bits_, sizeof(uint32_t), allocate_host));
    KB_TRY(grow_to(totals.words, room_.words, bits_, sizeof(uint32_t), allocate_device));
  }
  return {};
}

/// Writes the descriptions of all images, which a kernel copies to the device.
void CudaPayloadStage::write_places() {
  for (const Image& image : images_) {
    uint32_t* to = at<uint32_t>(host_places_, image.first_place);
    const auto add = [&](const auto& list) {
      const size_t bytes = list.size() * sizeof(list[0]);
      std::memcpy(to, list.data(), bytes);
      to += bytes / sizeof(uint32_t);
    };
    add(image.places.bits);
    add(image.places.sums);
    add(image.first_part);
  }
}

GatherArgs CudaPayloadStage::args_of(const Plan& plan, const Pieces& pieces, uint32_t image) const {
  const Image& of = images_[image];
  GatherArgs args{.pieces = pieces,
                  .count = static_cast<uint32_t>(of.count),
                  .image = image,
                  .moves = plan.payload.kind.moves,
                  .each = static_cast<uint32_t>(each_),
                  .points = plan.payload.points,
                  .masks = plan.payload.masks};
  if (values_ != nullptr) args.values = at<float>(values_, image * kept_capacity_ * each_);
  if (!plan.payload.has(Moves::kAsMask)) return args;
  if (is_plain(plan, pieces)) args.prototypes = Numbers::kFloat;
  args.values = at<float>(factors_, of.first_box * each_);
  args.places = reinterpret_cast<const MaskPlace*>(at<uint32_t>(places_, of.first_place)) +
                (enlarged_ ? of.count : 0);
  if (enlarged_) args.out.sums = at<float>(sums_, of.first_sum);
  else args.out.bits = at<uint32_t>(bits_, of.first_word);
  return args;
}

EnlargeArgs CudaPayloadStage::enlarge_args(const Plan& plan, uint32_t image) const {
  const Image& of = images_[image];
  const auto* places = reinterpret_cast<const MaskPlace*>(at<uint32_t>(places_, of.first_place));
  return {.columns = mask_columns(plan, image),
          .rows = mask_rows(plan, image),
          .from = places + of.count,
          .sums = at<float>(sums_, of.first_sum),
          .places = places,
          .first_part = reinterpret_cast<const uint32_t*>(places + 2 * of.count),
          .count = static_cast<uint32_t>(of.count),
          .parts = of.first_part.back(),
          .bits = at<uint32_t>(bits_, of.first_word)};
}

Status CudaPayloadStage::run(const Plan& plan, const DevicePlan& device_plan, const Pieces& pieces,
                             std::span<const std::span<const Detection>> boxes,
                             cudaStream_t stream) {
  const bool masks = plan.payload.has(Moves::kAsMask);
  const Totals totals = place(plan, boxes);
  if (totals.boxes == 0) return {};
  if (masks) {
    KB_TRY(grow(totals));
    write_places();
  }
  for (uint32_t image = 0; image < images_.size(); ++image) {
    GatherArgs args = args_of(plan, pieces, image);
    args.boxes = boxes[image].data();
    if (masks && image == 0) {
      args.host_words = at<uint32_t>(host_places_, 0);
      args.device_words = at<uint32_t>(places_, 0);
      args.words = static_cast<uint32_t>(totals.place_words);
    }
    DevicePlan own = device_plan;
    own.letterbox = plan.letterbox_of(image);
    KB_TRY_CUDA(launch_values(own, args, stream));
    if (!masks) continue;
    KB_TRY_CUDA(launch_masks(own, args, stream));
    if (enlarged_) KB_TRY_CUDA(launch_enlarge(enlarge_args(plan, image), stream));
  }
  if (totals.words != 0)
    KB_TRY_CUDA(cudaMemcpyAsync(host_bits_.get(), bits_.get(), totals.words * sizeof(uint32_t),
                                cudaMemcpyDeviceToHost, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

PayloadOutput CudaPayloadStage::of(uint32_t image) const {
  const Image& from = images_[image];
  PayloadOutput out{.places = from.places.bits};
  if (values_ != nullptr)
    out.values = {at<const float>(values_, image * kept_capacity_ * each_), from.count * each_};
  else if (host_bits_ != nullptr) out.bits = at<const uint32_t>(host_bits_, from.first_word);
  return out;
}

}  // namespace keepbox::cuda
