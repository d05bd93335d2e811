// SPDX-License-Identifier: LGPL-2.1-or-later
// Device buffers of a runner, its grids, and uploads.
#include "kernels/cuda/host/buffers.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/formula/oriented.h"
#include "core/model/nms_methods.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

const Kernels& kernels_for(const Rules& rules) {
  return with_geometry(rules,
                       []<class Geometry>() -> const Kernels& { return kernels_of<Geometry>(); });
}

namespace {

BoxSpans carve_boxes(Carver& carver, size_t count) {
  return {carver.take<uint64_t>(count), carver.take<float4>(count)};
}

}  // namespace

bool frame_kernel_supports(const Rules& rules) {
  const NmsContract& contract = rules.contract;
  if (rules.method != NmsMethod::kGreedy && rules.method != NmsMethod::kNone) return false;
  // Boxes of full classes can be dropped at the end if they suppress no other class.
  const bool ends_classes = contract.per_class_limit && !contract.class_agnostic;
  return rules.pre_nms_class_top_k == 0 && (ends_classes || !rules.limits_classes());
}

bool needs_sequential_nms(const Rules& rules) {
  return traits_of(rules.method).exact && rules.contract.class_agnostic && rules.limits_classes();
}

bool supports_one_launch(const Rules& rules) {
  const bool handles = rules.method == NmsMethod::kGreedy || rules.method == NmsMethod::kFast;
  return handles && rules.pre_nms_class_top_k == 0 && !rules.limits_classes();
}

Buckets buckets_of(const Plan& plan) {
  constexpr uint32_t kMinCapacity = kBucketCapacity / 4;
  constexpr size_t kMaxOfAll = size_t{1} << 22;
  if (plan.rules.method != NmsMethod::kGreedy || !frame_kernel_supports(plan.rules)) return {};
  const uint32_t classes = plan.rules.contract.class_agnostic ? 1 : plan.rules.class_ids;
  uint32_t count = std::min(std::max(classes, 1u), kMaxBuckets), capacity = kBucketCapacity;
  const auto too_large = [&] { return size_t{capacity} * count * plan.layout.images > kMaxOfAll; };
  while (capacity > kMinCapacity && too_large()) capacity /= 2;
  while (count > 1 && too_large()) count = (count + 1) / 2;  // classes share buckets
  return {count, std::min(capacity, std::max(plan.rules.candidates, 1u))};
}

Tables Buffers::tables(const Plan& plan) const {
  return {.class_threshold = class_threshold.data(),
          .class_wanted = class_wanted.data(),
          .boxes = {priors.data(), levels.data(), anchor_sizes.data()},
          .size_limits = plan.size_limits.empty() ? nullptr : size_limits.data(),
          .regions = plan.regions.empty() ? nullptr : regions.data()};
}

Buffers carve(Carver& device, Carver& host, const Plan& plan) {
  const size_t candidates = plan.rules.candidates, images = plan.layout.images;
  const size_t in_runs = (candidates + kRun - 1) / kRun * kRun;
  const Buckets buckets = buckets_of(plan);
  Buffers out;
  out.control = device.take<Control>(images);
  out.candidates = carve_boxes(device, images * candidates);
  out.bucketed = carve_boxes(device, images * buckets.count * buckets.capacity);
  out.kept_of = carve_boxes(device, images * buckets.groups() * buckets.group_capacity());
  out.class_threshold = device.take<float>(plan.class_threshold.size());
  out.class_wanted = device.take<uint8_t>(plan.class_wanted.size());
  out.priors = device.take<Prior>(plan.priors.size());
  out.levels = device.take<Level>(plan.levels.size());
  out.anchor_sizes = device.take<AnchorSize>(plan.anchor_sizes.size());
  out.size_limits = device.take<SizeLimits>(plan.class_threshold.size());
  out.regions = device.take<Region>(2 * kMaxRegions);
  out.maps = device.take<Letterbox>(plan.has_maps() ? images : 0);
  out.segments = device.take<DeviceSegment>(plan.layout.segments.size());
  out.angles = device.take<float>(plan.rules.oriented ? images * plan.rules.anchors : 0);
  out.runs = device.take<uint64_t>(in_runs);
  out.run_index = device.take<uint32_t>(in_runs);
  out.ordered = carve_boxes(device, candidates);
  out.kept = carve_boxes(device, candidates);
  out.words = device.take<uint32_t>(large_words(plan.rules.method, plan.rules.pre_nms_top_k));
  out.device_out =
      device.take<Detection>(plan.payload.any() ? images * plan.rules.kept_capacity : 0);
  out.device_headers = device.take<Header>(images);
  out.headers = host.take<Header>(images);
  out.out = host.take<Detection>(images * plan.rules.kept_capacity);
  return out;
}

namespace {

/// True if the plan uses features that few families have.
bool uses_rare_features(const Plan& plan) {
  const Layout& layout = plan.layout;
  return layout.segments.size() > 1 || plan.rules.multi_label || plan.rules.peaks ||
         plan.rules.boxes.bins > 1 || layout[FieldId::kSizes].present() ||
         layout[FieldId::kImage].present() || layout[FieldId::kIndices].present() ||
         layout[FieldId::kAngle].present();
}

Scan scan_of(const Plan& plan) {
  if (uses_rare_features(plan)) return Scan::kSegments;
  const Layout& layout = plan.layout;
  const Field& scores = layout[FieldId::kScores];
  if (!scores.present()) return Scan::kReady;
  return scores.anchor_stride < scores.channel_stride ? Scan::kPlanes : Scan::kRows;
}

/// Returns the upper half of a key with that score.
uint32_t high_of(float score) { return static_cast<uint32_t>(order_key(score, 0, 0) >> 32); }

/// Returns the octaves from a score of 1 to the lowest that passes, up to a useful maximum.
uint32_t octaves_of(float lowest) {
  constexpr uint32_t kMax = 16, kOctave = 1u << 23;
  if (!(lowest > 0)) return kMax;
  const uint32_t range = lowest < 1 ? high_of(lowest) - high_of(1.0f) : 0;
  return std::clamp((range + kOctave - 1) / kOctave, 1u, kMax);
}

}  // namespace

DevicePlan device_plan(const Plan& plan, const Buffers& buffers) {
  return {.scan = scan_of(plan),
          .buckets = buckets_of(plan),
          .rules = plan.rules,
          .tables = buffers.tables(plan),
          .letterbox = plan.letterbox,
          .best_high = high_of(1.0f),
          .octaves = octaves_of(plan.rules.lowest_threshold),
          .per_pixel_x = plan.letterbox.per_pixel_x(),
          .per_pixel_y = plan.letterbox.per_pixel_y(),
          .angles = plan.rules.oriented ? buffers.angles.data() : nullptr,
          .maps = plan.has_maps() ? buffers.maps.data() : nullptr};
}

namespace {

LoadKind load_kind_of(const TensorView& view) {
  const bool plain = view.scale == 1 && view.zero_point == 0;
  const DataType type = view.type;
  if (type == DataType::kInt8 || type == DataType::kUInt8) return LoadKind::kByte;
  if (type == DataType::kFloat32 && plain) return LoadKind::kFloat;
  const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  return half && plain ? LoadKind::kHalf : LoadKind::kAny;
}

/// Returns a field without its tensor's data. Tensors of the frames of a joint plan are adjacent.
DeviceField field_in(const Plan& plan, const Field& field, const TensorView& view) {
  const size_t element = size_of(view.type);
  const size_t stride = plan.is_joint() ? view.shape.count().value_or(0) : field.image_stride;
  return {.image_stride = stride * element,
          .anchor_stride = static_cast<uint32_t>(field.anchor_stride),
          .channel_stride = static_cast<uint32_t>(field.channel_stride),
          .scale = view.scale,
          .zero_point = view.zero_point,
          .type = view.type,
          .element = static_cast<uint8_t>(element),
          .load_kind = load_kind_of(view)};
}

/// Returns a field of a tensor whose data is on the device at `data`.
DeviceField device_field(const Plan& plan, const Field& field, std::span<const TensorView> tensors,
                         std::span<const std::byte* const> data) {
  if (!field.present()) return {};
  const auto index = static_cast<size_t>(field.tensor);
  DeviceField out = field_in(plan, field, tensors[index]);
  out.data = data[index] + field.offset * out.element;
  if (reinterpret_cast<uintptr_t>(data[index]) % out.element != 0) out.load_kind = LoadKind::kAny;
  return out;
}

/// Returns a view with the form of a plan's tensor.
TensorView view_of(const TensorForm& form) {
  return {
      .type = form.type, .shape = form.shape, .scale = form.scale, .zero_point = form.zero_point};
}

}  // namespace

std::vector<DeviceSegment> device_segments(const Plan& plan, uint32_t width,
                                           SegmentTable& segments) {
  std::vector<DeviceSegment> out;
  uint32_t chunks = 0;
  for (const Segment& segment : plan.layout.segments) {
    DeviceSegment& to = out.emplace_back();
    to.first = segment.first;
    to.count = segment.count;
    to.first_chunk = chunks;
    chunks += (segment.count + width - 1) / width;
    for (size_t id = 0; id < kFieldCount; ++id) {
      const Field& field = segment.fields[id];
      if (!field.present()) continue;
      const auto index = static_cast<size_t>(field.tensor);
      to.tensors[id] = static_cast<uint8_t>(index);
      to.fields[id] = field_in(plan, field, view_of(plan.forms[index]));
      to.fields[id].data = reinterpret_cast<const std::byte*>(field.offset * to.fields[id].element);
    }
  }
  segments.count = static_cast<uint32_t>(out.size());
  segments.chunks = chunks;
  return out;
}

LoadKind bind_fields(DevicePlan& plan, SegmentTable& segments, const Plan& from,
                     std::span<const TensorView> tensors, std::span<const std::byte* const> data) {
  std::optional<LoadKind> all;
  const auto combine = [&](LoadKind load_kind) {
    all = all.value_or(load_kind) == load_kind ? load_kind : LoadKind::kAny;
  };
  std::ranges::copy(data, segments.data);
  for (size_t i = 0; plan.scan == Scan::kSegments && i < data.size(); ++i) {
    const bool aligned = reinterpret_cast<uintptr_t>(data[i]) % size_of(tensors[i].type) == 0;
    combine(aligned ? load_kind_of(tensors[i]) : LoadKind::kAny);
  }
  for (size_t id = 0; plan.scan != Scan::kSegments && id < kCommonFields; ++id) {
    plan.fields[id] = device_field(from, from.layout.segments[0].fields[id], tensors, data);
    if (plan.fields[id].data != nullptr) combine(plan.fields[id].load_kind);
  }
  return all.value_or(LoadKind::kAny);
}

namespace {

/// Returns the number of anchors that keep a block busy.
uint32_t anchors_per_block(Scan scan) {
  if (scan == Scan::kReady) return kFrameThreads;
  return scan == Scan::kPlanes || scan == Scan::kSegments ? kWarp : kFrameWarps;
}

/// Returns the blocks for an image, apart from limits. A batch of planes has at least one for the
/// anchors that its threads process at once: blocks that process more of them, and more blocks with
/// fewer classes per thread, took longer.
uint32_t blocks_for(const DevicePlan& plan, uint32_t processors, uint32_t images) {
  if (images == 1) return processors * (plan.scan == Scan::kRows ? 4 : 2);
  if (plan.scan != Scan::kPlanes) return processors * 8 / images;
  return std::max(processors * 2 / images,
                  (plan.rules.anchors + kFrameThreads - 1) / kFrameThreads);
}

}  // namespace

Result<FrameGrid> choose_grid(const DevicePlan& plan, uint32_t images) {
  int device = 0, processors = 0;
  KB_TRY_CUDA(cudaGetDevice(&device));
  KB_TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const uint32_t each = anchors_per_block(plan.scan);
  const uint32_t limit = std::max((plan.rules.anchors + each - 1) / each, 1u);
  const uint32_t blocks = blocks_for(plan, static_cast<uint32_t>(processors), images);
  FrameGrid out{.blocks = dim3(std::clamp(blocks, 1u, std::min(limit, kMaxBlocks)), images),
                .processors = static_cast<uint32_t>(processors)};
  // Maximum number of warps per anchor's classes without a second round of blocks.
  const uint32_t spare = out.blocks.x * kFrameThreads / std::max(1u, plan.rules.anchors);
  out.slices = std::bit_floor(std::clamp(spare, 1u, kFrameWarps));
  return out;
}

Status upload_tables(const Plan& plan, const Buffers& buffers, cudaStream_t stream) {
  const auto begin = [&](auto to, const auto& from) {
    return check(cudaMemcpyAsync(to.data(), from.data(), std::span(from).size_bytes(),
                                 cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
  };
  KB_TRY(begin(buffers.class_threshold, plan.class_threshold));
  KB_TRY(begin(buffers.class_wanted, plan.class_wanted));
  KB_TRY(begin(buffers.priors, plan.priors));
  KB_TRY(begin(buffers.levels, plan.levels));
  KB_TRY(begin(buffers.anchor_sizes, plan.anchor_sizes));
  KB_TRY(begin(buffers.size_limits, plan.size_limits));
  KB_TRY(begin(buffers.regions, plan.regions));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace keepbox::cuda
