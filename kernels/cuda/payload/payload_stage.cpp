// SPDX-License-Identifier: LGPL-2.1-or-later
// Enqueues kernels after those of the frame, or launches them once these are done, and waits once.
#include "kernels/cuda/payload/payload_stage.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace keepbox::cuda {
namespace {

constexpr size_t kPlaceWords = sizeof(MaskRect) / sizeof(uint32_t);
/// Words of masks that the device places: so few that no limit of place_masks() applies.
constexpr size_t kMaxWords = size_t{1} << 25;

/// Counts the parts of masks that warps enlarge.
void count_parts(std::span<const MaskRect> places, std::vector<uint32_t>& first_part) {
  uint32_t parts = 0;
  first_part.clear();
  for (const MaskRect& place : places) {
    first_part.push_back(parts);
    parts += place.words() * ((place.height + kWarpRows - 1) / kWarpRows);
  }
  first_part.push_back(parts);
}

/// Makes memory for at least `count` elements, and half as much again.
template <class Blob>
Status grow_to(size_t count, size_t& capacity, Blob& blob, size_t element, auto allocate) {
  if (count <= capacity) return {};
  capacity = 0;
  const size_t next = count + count / 2;
  KB_ASSIGN(blob, allocate(next * element));
  capacity = next;
  return {};
}

/// True if the prototypes are aligned, unquantised float32.
bool is_plain(const Plan& plan, const SegmentTable& segments) {
  const auto tensor = static_cast<size_t>(plan.layout[FieldId::kPrototypes].tensor);
  const TensorForm& form = plan.forms[tensor];
  return form.type == DataType::kFloat32 && form.scale == 1 && form.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(segments.data[tensor]) % sizeof(float) == 0;
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

Status CudaPayloadStage::prepare(const Plan& plan, const KeptBoxes& kept, cudaStream_t stream) {
  images_.resize(plan.layout.images);
  kept_ = kept;
  each_ = plan.payload.count;
  masks_ = plan.payload.has(Moves::kAsMask);
  enlarged_ = plan.payload.masks.enlarged;
  KB_ASSIGN(host_state_, allocate_host(sizeof(HostState)));
  KB_ASSIGN(counters_, allocate_device(sizeof(Counters)));
  new (host_state_.get()) HostState{};
  KB_TRY_CUDA(cudaMemsetAsync(counters_.get(), 0, sizeof(Counters), stream));
  if (masks_) return {};  // their values stay on the device
  KB_ASSIGN(values_, allocate_host(images_.size() * kept_.stride * each_ * sizeof(float)));
  return {};
}

void CudaPayloadStage::abandon() {
  for (HostBlob* blob : {&host_state_, &values_, &host_places_, &host_bits_}) (void)blob->release();
  for (DeviceBlob* blob : {&counters_, &places_, &factors_, &sums_, &bits_}) (void)blob->release();
}

CudaPayloadStage::Totals CudaPayloadStage::place(
    const Plan& plan, std::span<const std::span<const Detection>> boxes) {
  Totals all;
  for (size_t i = 0; i < running_; ++i) {
    Image& image = images_[i];
    image.count = boxes[i].size();
    image.first_box = all.boxes;
    image.first_word = all.words;
    image.first_sum = all.sums;
    image.first_place = all.place_words;
    all.boxes += image.count;
    place_masks(plan, static_cast<uint32_t>(i), boxes[i], image.places);
    if (enlarged_) count_parts(image.places.bits, image.first_part);
    all.words += image.places.words;
    all.sums += image.places.sum_count;
    all.place_words += image.place_words();
  }
  return all;
}

Status CudaPayloadStage::grow(const Totals& totals) {
  KB_TRY(grow_to(totals.boxes, capacity_.boxes, factors_, each_ * sizeof(float), allocate_device));
  KB_TRY(grow_to(totals.sums, capacity_.sums, sums_, sizeof(float), allocate_device));
  if (totals.place_words > capacity_.place_words) {
    size_t host_capacity = 0;
    capacity_.place_words = 0;
    KB_TRY(
        grow_to(totals.place_words, host_capacity, host_places_, sizeof(uint32_t), allocate_host));
    KB_TRY(grow_to(totals.place_words, capacity_.place_words, places_, sizeof(uint32_t),
                   allocate_device));
  }
  if (totals.words > capacity_.words) {
    size_t host_capacity = 0;
    capacity_.words = 0;
    KB_TRY(grow_to(totals.words, host_capacity, host_bits_, sizeof(uint32_t), allocate_host));
    KB_TRY(grow_to(totals.words, capacity_.words, bits_, sizeof(uint32_t), allocate_device));
  }
  return {};
}

/// Writes the descriptions of all images, which a kernel copies to the device.
void CudaPayloadStage::write_places() {
  for (const Image& image : std::span(images_).first(running_)) {
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

MaskArgs CudaPayloadStage::args_of(const Plan& plan, const SegmentTable& segments,
                                   uint32_t image) const {
  const Image& of = images_[image];
  MaskArgs args{.segments = segments,
                .count = static_cast<uint32_t>(of.count),
                .image = image,
                .rules = plan.payload.masks,
                .factors = at<float>(factors_, of.first_box * each_)};
  if (is_plain(plan, segments)) args.prototypes = LoadKind::kFloat;
  args.places = reinterpret_cast<const MaskRect*>(at<uint32_t>(places_, of.first_place)) +
                (enlarged_ ? of.count : 0);
  if (enlarged_) args.out.sums = at<float>(sums_, of.first_sum);
  else args.out.bits = at<uint32_t>(bits_, of.first_word);
  return args;
}

EnlargeArgs CudaPayloadStage::enlarge_args(const Plan& plan, uint32_t image) const {
  const Image& of = images_[image];
  const auto* places = reinterpret_cast<const MaskRect*>(at<uint32_t>(places_, of.first_place));
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

Status CudaPayloadStage::run_masks(const Plan& plan, const DevicePlan& device_plan,
                                   const SegmentTable& segments,
                                   std::span<const std::span<const Detection>> boxes,
                                   cudaStream_t stream) {
  const Totals totals = place(plan, boxes);
  KB_TRY(grow(totals));
  write_places();
  for (uint32_t image = 0; image < running_; ++image) {
    if (images_[image].count == 0 && image != 0) continue;
    MaskArgs args = args_of(plan, segments, image);
    args.boxes = boxes[image].data();
    if (image == 0) {
      args.host_words = at<uint32_t>(host_places_, 0);
      args.device_words = at<uint32_t>(places_, 0);
      args.words = static_cast<uint32_t>(totals.place_words);
    }
    KB_TRY_CUDA(launch_factors(device_plan, args, stream));
    KB_TRY_CUDA(launch_masks(device_plan, args, args.count, stream));
    if (enlarged_) KB_TRY_CUDA(launch_enlarge(enlarge_args(plan, image), stream));
  }
  if (totals.words != 0)
    KB_TRY_CUDA(cudaMemcpyAsync(host_bits_.get(), bits_.get(), totals.words * sizeof(uint32_t),
                                cudaMemcpyDeviceToHost, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

Report CudaPayloadStage::next_report() {
  return {&counters()->arrived, &host_state().done, ++sequence_};
}

Status CudaPayloadStage::wait(cudaStream_t stream) {
  const auto is_done = [&] {
    return std::atomic_ref(host_state().done).load(std::memory_order_acquire) == sequence_;
  };
  if (spin(kYield, kSpin, is_done)) return {};
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

Status CudaPayloadStage::enqueue_values(const Plan& plan, const DevicePlan& device_plan,
                                        const SegmentTable& segments, bool packed,
                                        cudaStream_t stream) {
  ValueArgs args{.segments = segments,
                 .kept = kept_,
                 .moves = plan.payload.kind.moves,
                 .each = static_cast<uint32_t>(each_),
                 .keypoints = plan.payload.keypoints,
                 .values = at<float>(values_, 0),
                 .report = next_report()};
  args.kept.packed = packed;
  return check(launch_values(device_plan, args, running_, expected_, stream), "launch_values");
}

/// Enqueues the masks of one image, in the memory of the frames before.
Status CudaPayloadStage::enqueue_masks(const Plan& plan, const DevicePlan& device_plan,
                                       const SegmentTable& segments, cudaStream_t stream) {
  images_[0].first_box = images_[0].first_word = images_[0].first_place = 0;
  MaskArgs args = args_of(plan, segments, 0);
  args.totals = &counters()->totals;
  const PlaceArgs places{.segments = segments,
                         .kept = kept_,
                         .rules = plan.payload.masks,
                         .scale = mask_scale(plan),
                         .capacity = {static_cast<uint32_t>(std::min(
                                          capacity_.boxes, capacity_.place_words / kPlaceWords)),
                                      static_cast<uint32_t>(std::min(capacity_.words, kMaxWords))},
                         .factors = args.factors,
                         .places = reinterpret_cast<MaskRect*>(places_.get()),
                         .host_places = reinterpret_cast<MaskRect*>(host_places_.get()),
                         .totals = &counters()->totals,
                         .result = &host_state().placed};
  KB_TRY_CUDA(launch_places(device_plan, places, expected_, stream));
  KB_TRY_CUDA(launch_masks(device_plan, args, expected_, stream));
  return check(launch_send({.totals = &counters()->totals,
                            .bits = at<uint32_t>(bits_, 0),
                            .host_bits = at<uint32_t>(host_bits_, 0),
                            .report = next_report()},
                           stream),
               "launch_send");
}

Status CudaPayloadStage::begin(const Plan& plan, const DevicePlan& device_plan,
                               const SegmentTable& segments, uint32_t images, cudaStream_t stream) {
  running_ = images;
  begun_ = ahead_ && (!masks_ || (images_.size() == 1 && !enlarged_ && capacity_.words != 0));
  if (!begun_) return {};
  return masks_ ? enqueue_masks(plan, device_plan, segments, stream)
                : enqueue_values(plan, device_plan, segments, false, stream);
}

/// Adopts the rectangles that the device computed. @return false if it declined.
bool CudaPayloadStage::adopt_placed_masks() {
  const Placed& placed = host_state().placed;
  Image& only = images_[0];
  if (placed.declined != 0 || placed.totals.boxes != only.count) return false;
  const auto* places = reinterpret_cast<const MaskRect*>(host_places_.get());
  only.places.bits.assign(places, places + placed.totals.boxes);
  only.places.words = placed.totals.words;
  return true;
}

Status CudaPayloadStage::finish(const Plan& plan, const DevicePlan& device_plan,
                                const SegmentTable& segments,
                                std::span<const std::span<const Detection>> boxes, bool changed,
                                cudaStream_t stream) {
  expected_ = 0;
  for (size_t i = 0; i < running_; ++i) {
    images_[i].count = boxes[i].size();
    images_[i].places.clear();
    expected_ = std::max(expected_, static_cast<uint32_t>(boxes[i].size()));
  }
  ahead_ = !changed;
  if (expected_ == 0) return {};
  if (begun_ && !changed) {
    KB_TRY(wait(stream));
    if (!masks_ || adopt_placed_masks()) return {};
  }
  if (masks_) return run_masks(plan, device_plan, segments, boxes, stream);
  KB_TRY(enqueue_values(plan, device_plan, segments, true, stream));
  return wait(stream);
}

PayloadOutput CudaPayloadStage::of(uint32_t image) const {
  const Image& from = images_[image];
  PayloadOutput out{.places = from.places.bits};
  if (values_ != nullptr)
    out.values = {at<const float>(values_, image * kept_.stride * each_), from.count * each_};
  else if (host_bits_ != nullptr) out.bits = at<const uint32_t>(host_bits_, from.first_word);
  return out;
}

}  // namespace keepbox::cuda
