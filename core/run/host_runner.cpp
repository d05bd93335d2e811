// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a frame on the host: candidates, suppression, boxes and payloads.
#include "core/run/host_runner.h"

#include <algorithm>
#include <utility>

#include "core/formula/emit.h"
#include "core/formula/keypoint.h"

namespace keepbox {

/// A decode kernel and its arguments.
struct DecodeCall {
  decltype(HostKernels::decode) decode;
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t image;
};

/// Decodes an image in one part per thread with enough work, and returns the number of candidates.
/// @param threads null for a single part. @param out plan.rules.candidates.
uint32_t decode_parts(const DecodeCall& call, ThreadPool* threads, std::span<Candidate> out,
                      Funnel& funnel);

namespace {

/// Writes kept candidates as detections on the frame. Boxes outside of it and filtered boxes are
/// overwritten by the next one, which is faster than a branch for thousands of boxes.
/// @param kept indices of the ordered candidates; on return those of the detections.
/// @param filtered incremented for each box dropped by a filter.
uint32_t emit(const Plan& plan, uint32_t image, std::span<const Candidate> ordered,
              std::span<uint32_t> kept, std::span<Detection> out, uint32_t& filtered) {
  const Tables tables = plan.tables();
  const Letterbox letterbox = plan.letterbox_of(image);
  uint32_t count = 0;
  for (const uint32_t index : kept) {
    out[count] = emitted(ordered[index], letterbox, plan.rules, tables);
    kept[count] = index;
    filtered += is_filtered(out[count].box) ? 1 : 0;
    count += is_empty(out[count].box) ? 0 : 1;
  }
  return count;
}

Status check(const Stop& stop) {
  if (!stop.requested()) return {};
  return reject(ErrorKind::kInterrupted, "The frame was interrupted by a stop");
}

}  // namespace

HostRunner::HostRunner(const HostKernels& kernels, const Plan& plan, Workspace workspace,
                       ThreadPool* threads)
    : kernels_(kernels),
      workspace_(std::move(workspace)),
      threads_(threads),
      images_(plan.layout.images) {
  const size_t each = plan.rules.kept_capacity;
  for (size_t i = 0; i < images_.size(); ++i)
    images_[i].detections = workspace_.scratch().detections.subspan(i * each, each);
}

Result<std::unique_ptr<Runner>> HostRunner::create(const HostKernels& kernels, const Plan& plan,
                                                   ThreadPool* threads) {
  KB_ASSIGN(auto workspace, Workspace::create(plan));
  std::unique_ptr<HostRunner> out(new HostRunner(kernels, plan, std::move(workspace), threads));
  for (uint32_t image = 0; plan.payload.any() && image < plan.layout.images; ++image) {
    KB_ASSIGN(auto payload, HostPayload::create(plan));
    out->payloads_.push_back(std::move(payload));
  }
  return out;
}

Status HostRunner::run(const Plan& plan, std::span<const TensorView> tensors, const Stop& stop) {
  const uint32_t images = plan.images_of(tensors);
  for (uint32_t image = 0; image < images; ++image)
    KB_TRY(run(plan, plan.tensors_of(tensors, image), image, stop));
  return {};
}

Status HostRunner::run(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                       Stop stop) {
  const Scratch& scratch = workspace_.scratch();
  NmsScratch nms = scratch.nms;
  nms.stop = stop;
  Image& out = images_[image];
  Funnel funnel;
  const uint32_t decoded =
      decode_parts({kernels_.decode, plan, tensors, image}, threads_, scratch.candidates, funnel);
  KB_TRY(check(stop));
  const auto candidates = scratch.candidates.first(decoded);
  funnel.after_top_k = kernels_.select(plan, candidates, scratch.slots, scratch.ordered);
  const auto ordered = scratch.ordered.first(funnel.after_top_k);
  funnel.kept = kernels_.nms(plan, ordered, scratch.kept, nms);
  KB_TRY(check(stop));
  out.count = emit(plan, image, ordered, scratch.kept.first(funnel.kept), out.detections,
                   funnel.filtered_out);
  funnel.clipped_away = funnel.kept - out.count - funnel.filtered_out;
  out.funnel = funnel;
  if (payloads_.empty()) return {};
  return payloads_[image].run(kernels_, plan, tensors, image, detections(image),
                              {ordered, scratch.nms.owners, scratch.kept});
}

namespace {

constexpr const char* kFewerDetections = "lower max-detections";
constexpr const char* kCoarser = "set mask-size=prototypes, or lower max-detections";

/// Mean of values, weighted like box corners by the scores of their boxes.
class ValueMean {
 public:
  explicit ValueMean(std::span<float> out) : out_(out) { std::ranges::fill(out_, 0.0f); }

  void add(std::span<const float> values, float score) {
    const float by = larger(score, 0.0f);
    for (size_t i = 0; i < out_.size(); ++i) out_[i] = out_[i] + by * values[i];
    weight_ = weight_ + by;
  }

  void finish() {
    for (float& each : out_) each = each / weight_;
  }

 private:
  std::span<float> out_;
  float weight_ = 0;
};

/// Maps keypoints to the frame.
void move_keypoints(const Plan& plan, uint32_t image, std::span<float> values) {
  const Letterbox& letterbox = plan.letterbox_of(image);
  for (size_t i = 0; i < values.size(); i += kPointValues) {
    const Keypoint point = on_frame(letterbox, {values[i], values[i + 1], values[i + 2]},
                                    plan.payload.keypoints.clipped);
    values[i] = point.x, values[i + 1] = point.y, values[i + 2] = point.score;
  }
}

}  // namespace

Result<HostPayload> HostPayload::create(const Plan& plan) {
  HostPayload out;
  const size_t each = plan.payload.count;
  if (!plan.payload.has(Moves::kAsMask))
    KB_TRY(out.own_values_.grow(plan.rules.kept_capacity * each, kFewerDetections));
  if (plan.payload.mean) KB_TRY(out.value_scratch_.grow(each, kFewerDetections));
  return out;
}

Status HostPayload::run(const HostKernels& kernels, const Plan& plan,
                        std::span<const TensorView> tensors, uint32_t image,
                        std::span<const Detection> detections, const Owners& owners) {
  values_ = {};
  places_.clear();
  const size_t each = plan.payload.count;
  KB_TRY(own_values_.grow(detections.size() * each, kFewerDetections));
  const std::span<float> values = own_values_.first(detections.size() * each);
  const Frame frame{kernels, plan, tensors, image};
  for (size_t i = 0; i < detections.size(); ++i) {
    const std::span<float> out = values.subspan(i * each, each);
    if (plan.payload.mean) read_mean(frame, owners, owners.kept[i], out);
    else kernels.payload(plan, tensors, image, detections[i].anchor, out);
  }
  if (plan.payload.has(Moves::kAsPoints)) move_keypoints(plan, image, values);
  values_ = values;
  return plan.payload.has(Moves::kAsMask) ? make_masks(frame, detections) : Status{};
}

/// @param kept index of the candidate.
void HostPayload::read_mean(const Frame& frame, const Owners& owners, uint32_t kept,
                            std::span<float> out) {
  ValueMean mean(out);
  const std::span<float> one = value_scratch_.first(out.size());
  for (size_t j = kept; j < owners.candidates.size(); ++j) {
    if (owners.owner[j] != kept) continue;
    const uint64_t key = owners.candidates[j].key;
    const uint32_t anchor = anchor_in_key(frame.plan.rules.contract, key_anchor(key));
    frame.kernels.payload(frame.plan, frame.tensors, frame.image, anchor, one);
    mean.add(one, key_score(key));
  }
  mean.finish();
}

Status HostPayload::make_masks(const Frame& frame, std::span<const Detection> detections) {
  place_masks(frame.plan, frame.image, detections, places_);
  KB_TRY(bits_.grow(places_.words, kCoarser));
  words_ = bits_.data();
  const bool enlarged = frame.plan.payload.masks.enlarged;
  if (enlarged) KB_TRY(sums_.grow(places_.sum_count, kCoarser));
  frame.kernels.masks(frame.plan, frame.tensors, frame.image, values_,
                      enlarged ? places_.sums : places_.bits,
                      enlarged ? MaskOutput{.sums = sums_.data()} : MaskOutput{bits_.data()});
  if (enlarged) frame.kernels.enlarge(frame.plan, frame.image, places_, sums_.data(), bits_.data());
  return {};
}

namespace {

/// Bytes of tensors that are worth a thread.
constexpr size_t kPartBytes = size_t{1} << 19;

/// Returns the number of parts, at most `limit`, that have enough work each.
uint32_t parts_for(const DecodeCall& call, uint32_t limit) {
  size_t bytes = 0;
  const uint32_t images = call.plan.is_joint() ? 1 : call.plan.layout.images;
  for (const TensorView& tensor : call.tensors) bytes += tensor.bytes / images;
  return static_cast<uint32_t>(
      std::clamp<size_t>(bytes / kPartBytes, 1, std::min(limit, kMaxThreads)));
}

/// An image decoded in parts, each with its own range of the candidates.
struct DecodeJob {
  const DecodeCall& call;
  std::span<Candidate> out;
  uint32_t parts;
  struct {
    Funnel funnel;
    uint32_t count = 0;
  } results[kMaxThreads];

  /// Returns the maximum number of candidates per anchor.
  uint32_t each() const {
    return call.plan.rules.candidates / std::max(call.plan.layout.anchors, 1u);
  }

  /// Returns the anchors of a part. Boundaries are multiples of a cache line.
  AnchorRange range(uint32_t part) const {
    const uint32_t anchors = call.plan.layout.anchors, each = (anchors / parts / 64 + 1) * 64;
    return {std::min(part * each, anchors), std::min((part + 1) * each, anchors)};
  }

  void run(uint32_t part) {
    const AnchorRange mine = range(part);
    Funnel funnel;
    results[part].count = call.decode(
        call.plan, call.tensors, call.image, mine,
        out.subspan(size_t{mine.first} * each(), size_t{mine.end - mine.first} * each()), funnel);
    results[part].funnel = funnel;
  }

  /// Moves the candidates together, adds up the counters and returns the number of candidates.
  uint32_t merge(Funnel& funnel) const {
    uint32_t count = 0;
    for (uint32_t part = 0; part < parts; ++part) {
      const auto& [part_funnel, found] = results[part];
      const size_t first = size_t{range(part).first} * each();
      if (first != count) std::ranges::copy(out.subspan(first, found), out.subspan(count).begin());
      count += found;
      funnel.anchors += part_funnel.anchors;
      funnel.above_threshold += part_funnel.above_threshold;
      funnel.not_finite += part_funnel.not_finite;
      funnel.after_class_filter += part_funnel.after_class_filter;
    }
    return count;
  }
};

}  // namespace

uint32_t decode_parts(const DecodeCall& call, ThreadPool* threads, std::span<Candidate> out,
                      Funnel& funnel) {
  const uint32_t parts = threads == nullptr ? 1 : parts_for(call, threads->size());
  if (parts == 1)
    return call.decode(call.plan, call.tensors, call.image, {0, call.plan.layout.anchors}, out,
                       funnel);
  DecodeJob job{call, out, parts, {}};
  threads->run(parts, [](void* of, uint32_t i) { static_cast<DecodeJob*>(of)->run(i); }, &job);
  return job.merge(funnel);
}

}  // namespace keepbox
