// SPDX-License-Identifier: LGPL-2.1-or-later
// Carves the blobs and translates the plan.
#include "kernels/cuda/buffers.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace keepbox::cuda {

Buffers carve(Carver& device, Carver& host, const Plan& plan) {
  const size_t anchors = plan.layout.anchors, images = plan.layout.images;
  const size_t in_runs = (anchors + kRun - 1) / kRun * kRun;
  Buffers out;
  out.control = device.take<Control>(images);
  out.keys = device.take<uint64_t>(images * anchors);
  out.boxes = device.take<float4>(images * anchors);
  out.class_threshold = device.take<float>(plan.class_threshold.size());
  out.class_wanted = device.take<uint8_t>(plan.class_wanted.size());
  out.priors = device.take<Prior>(plan.priors.size());
  out.runs = device.take<uint64_t>(in_runs);
  out.run_index = device.take<uint32_t>(in_runs);
  out.ordered_keys = device.take<uint64_t>(anchors);
  out.ordered_boxes = device.take<float4>(anchors);
  out.kept_keys = device.take<uint64_t>(anchors);
  out.kept_boxes = device.take<float4>(anchors);
  out.words = device.take<uint32_t>(slow_words(plan.rules.method, plan.rules.pre_nms_top_k));
  out.headers = host.take<Header>(images);
  out.out = host.take<Candidate>(images * plan.rules.kept_capacity);
  return out;
}

namespace {

Scan scan_of(const Layout& layout) {
  if (!layout[Part::kScores].present()) return Scan::kReady;
  return layout[Part::kScores].anchor_stride < layout[Part::kScores].channel_stride ? Scan::kPlanes : Scan::kRows;
}

/// The upper half of a key with that score.
uint32_t high_of(float score) { return static_cast<uint32_t>(order_key(score, 0, 0) >> 32); }

/// By which scores from 1 down to the lowest are spread over the bins of the tail.
uint32_t bin_shift(float lowest) {
  constexpr int kBinBits = 11;
  const uint32_t range = lowest < 1 ? high_of(lowest) - high_of(1.0f) : 0;
  return static_cast<uint32_t>(std::max(0, static_cast<int>(std::bit_width(range)) - kBinBits));
}

bool is_uniform(const Plan& plan) {
  return std::ranges::all_of(plan.class_threshold,
                             [&](float each) { return each == plan.rules.lowest_threshold; }) &&
         std::ranges::all_of(plan.class_wanted, [](uint8_t wanted) { return wanted != 0; });
}

}  // namespace

DevicePlan device_plan(const Plan& plan, const Buffers& buffers) {
  return {.scan = scan_of(plan.layout),
          .method = plan.rules.method,
          .plain_overlap = !plan.rules.contract.plus_one && !plan.rules.contract.reorder_corners &&
                           !plan.rules.contract.empty_overlap,
          .uniform = is_uniform(plan),
          .anchors = plan.layout.anchors,
          .classes = plan.layout.classes,
          .first_class = plan.rules.first_class,
          .end_class = plan.rules.end_class,
          .class_ids = static_cast<uint32_t>(plan.class_threshold.size()),
          .lowest_threshold = plan.rules.lowest_threshold,
          .iou_threshold = plan.rules.iou_threshold,
          .max_detections = plan.rules.max_detections,
          .top_k = plan.rules.pre_nms_top_k,
          .best_high = high_of(1.0f),
          .bin_shift = bin_shift(plan.rules.lowest_threshold),
          .score_rules = plan.rules.scores,
          .box_rules = plan.rules.boxes,
          .priors = buffers.priors.data(),
          .class_threshold = buffers.class_threshold.data(),
          .class_wanted = buffers.class_wanted.data(),
          .contract = plan.rules.contract,
          .per_pixel_x = plan.letterbox.per_pixel_x(),
          .per_pixel_y = plan.letterbox.per_pixel_y()};
}

namespace {

Numbers numbers_of(DataType type) {
  if (type == DataType::kFloat32) return Numbers::kFloat;
  const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  return half ? Numbers::kHalf : Numbers::kAny;
}

/// A field of a tensor whose data is on the device at `data`.
DeviceField device_field(const Field& field, std::span<const TensorView> tensors,
                         std::span<const std::byte* const> data) {
  if (!field.present()) return {};
  const auto index = static_cast<size_t>(field.tensor);
  const TensorView& view = tensors[index];
  const bool aligned = reinterpret_cast<uintptr_t>(data[index]) % size_of(view.type) == 0;
  const size_t element = size_of(view.type);
  return {.data = data[index] + field.offset * element,
          .image_stride = field.image_stride * element,
          .anchor_stride = static_cast<uint32_t>(field.anchor_stride),
          .channel_stride = static_cast<uint32_t>(field.channel_stride),
          .scale = view.scale,
          .zero_point = view.zero_point,
          .type = view.type,
          .element = static_cast<uint8_t>(element),
          .present = true,
          .numbers = aligned && view.scale == 1 && view.zero_point == 0 ? numbers_of(view.type)
                                                                        : Numbers::kAny};
}
}  // namespace

Numbers bind_fields(DevicePlan& plan, const Layout& layout, std::span<const TensorView> tensors,
                    std::span<const std::byte* const> data) {
  std::optional<Numbers> all;
  for (const auto& [to, field] : {std::pair{&DevicePlan::box, &Layout::box},
                                  {&DevicePlan::objectness, &Layout::objectness},
                                  {&DevicePlan::scores, &Layout::scores},
                                  {&DevicePlan::score, &Layout::score},
                                  {&DevicePlan::class_id, &Layout::class_id},
                                  {&DevicePlan::count, &Layout::count}}) {
    plan.*to = device_field(layout.*field, tensors, data);
    if (!(plan.*to).present) continue;
    const Numbers numbers = (plan.*to).numbers;
    all = all.value_or(numbers) == numbers ? numbers : Numbers::kAny;
  }
  return all.value_or(Numbers::kAny);
}

}  // namespace keepbox::cuda
