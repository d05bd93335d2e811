// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode by columns, selection by a stable sort of tuples, suppression by striking out.
#include "tests/parity/second.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "core/numeric.h"

namespace keepbox::test {
namespace {

Bug planted = Bug::kNone;
bool has(Bug bug) { return planted == bug; }

/// One channel of a field for all anchors of an image.
std::vector<float> column(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                          const Field& field, uint32_t channel) {
  std::vector<float> out(plan.layout.anchors);
  const TensorView& tensor = tensors[static_cast<size_t>(field.tensor)];
  auto base = reinterpret_cast<uintptr_t>(tensor.data);
  if (has(Bug::kAlignedLoads)) base &= ~uintptr_t{15};
  if (has(Bug::kFirstImageOnly)) image = 0;
  const size_t size = size_of(tensor.type);
  for (uint32_t a = 0; a < out.size(); ++a)
    out[a] = load_element(tensor.type, reinterpret_cast<const char*>(base) +
                                           field.at(image, a, channel) * size);
  return out;
}

struct Scores {
  std::vector<float> score;
  std::vector<uint32_t> class_id;
};

bool accepted(float score, float threshold, const NmsContract& contract) {
  if (has(Bug::kNanScore)) return !(score < threshold);
  return contract.score_inclusive || has(Bug::kScoreInclusive) ? score >= threshold
                                                              : score > threshold;
}

bool better(float value, float best) {
  return has(Bug::kLastClass) ? value >= best : value > best;
}

/// Best classes, a plane of scores at a time.
Scores dense_scores(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t n = plan.layout.anchors;
  std::vector<float> objectness(n, 1.0f);
  if (plan.layout[Part::kObjectness].present())
    objectness = column(plan, tensors, image, plan.layout[Part::kObjectness], 0);
  bool product = spec.score == ScoreRule::kProduct;
  bool afterwards = spec.score == ScoreRule::kArgmaxFirst;
  if (has(Bug::kArgmaxFirst) && product) product = false, afterwards = true;
  if (has(Bug::kProductFirst) && afterwards) product = true, afterwards = false;
  Scores best{std::vector<float>(n, std::nanf("")), std::vector<uint32_t>(n, kMaxClasses)};
  std::vector<std::vector<float>> planes;
  for (uint32_t c = 0; c < plan.layout.classes; ++c)
    planes.push_back(column(plan, tensors, image, plan.layout[Part::kScores], c));
  for (uint32_t c = plan.rules.first_class; c < plan.rules.end_class; ++c) {
    if (has(Bug::kFilterFirst) && plan.class_wanted[c] == 0) continue;
    for (uint32_t a = 0; a < n; ++a) {
      const float value = product ? objectness[a] * planes[c][a] : planes[c][a];
      if (std::isnan(value)) continue;
      if (best.class_id[a] != kMaxClasses && !better(value, best.score[a])) continue;
      best.score[a] = value;
      best.class_id[a] = c;
    }
  }
  for (uint32_t a = 0; a < n; ++a) {
    if (spec.activation == Activation::kSigmoid) best.score[a] = sigmoid(best.score[a]);
    if (spec.activation == Activation::kSoftmax) {
      float top = best.score[a], sum = 0;
      for (const auto& plane : planes) top = std::max(top, plane[a]);
      if (has(Bug::kSoftmaxOverflow)) top = 0;
      for (const auto& plane : planes) sum += exp_f32(plane[a] - top);
      best.score[a] = exp_f32(best.score[a] - top) / sum;
    }
    if (afterwards) best.score[a] = objectness[a] * best.score[a];
    if (plan.layout[Part::kObjectness].present() &&
        !accepted(objectness[a], plan.rules.lowest_threshold, plan.rules.contract))
      best.score[a] = std::nanf("");
  }
  return best;
}

Scores ready_scores(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  Scores out{column(plan, tensors, image, plan.layout[Part::kScore], 0), {}};
  if (!plan.layout[Part::kClassId].present()) {
    out.class_id.resize(plan.layout.anchors);
    return out;
  }
  const auto ids = column(plan, tensors, image, plan.layout[Part::kClassId], 0);
  for (const float id : ids)
    out.class_id.push_back(id >= 0 && id < float(kMaxClasses) ? static_cast<uint32_t>(id)
                                                              : kMaxClasses);
  return out;
}

/// Center and size of every box, and whether they are centers at all.
std::vector<Box> boxes_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  const uint32_t n = plan.layout.anchors;
  std::vector<float> v[4];
  for (uint32_t i = 0; i < 4; ++i) {
    v[i] = column(plan, tensors, image, plan.layout[Part::kBox], i);
    for (float& value : v[i]) value *= plan.spec->box_scale[i];
  }
  std::vector<Box> out(n);
  for (uint32_t a = 0; a < n; ++a) {
    float cx = v[0][a] * plan.rules.boxes.unit_x, cy = v[1][a] * plan.rules.boxes.unit_y;
    float w = v[2][a] * plan.rules.boxes.unit_x, h = v[3][a] * plan.rules.boxes.unit_y;
    switch (plan.spec->coding) {
      case BoxCoding::kCorners: out[a] = {cx, cy, w, h}; continue;
      case BoxCoding::kCornersYX: {
        const float x = plan.rules.boxes.unit_x, y = plan.rules.boxes.unit_y;
        out[a] = {v[1][a] * x, v[0][a] * y, v[3][a] * x, v[2][a] * y};
        continue;
      }
      case BoxCoding::kGridExp: {
        size_t l = plan.rules.boxes.level_count - 1;
        while (plan.rules.boxes.levels[l].first_anchor > a) --l;
        const Level& level = plan.rules.boxes.levels[l];
        auto x = float((a - level.first_anchor) % level.width);
        auto y = float((a - level.first_anchor) / level.width);
        if (has(Bug::kGridTransposed)) std::swap(x, y);
        cx = (v[0][a] + x) * level.stride;
        cy = (v[1][a] + y) * level.stride;
        w = exp_f32(v[2][a]) * level.stride;
        h = exp_f32(v[3][a]) * level.stride;
        break;
      }
      case BoxCoding::kPriorDelta:
      case BoxCoding::kPriorDeltaXY: {
        const bool yx = (plan.spec->coding == BoxCoding::kPriorDelta) != has(Bug::kPriorSwapped);
        const Prior& p = plan.priors[a];
        cx = (v[yx ? 1 : 0][a] * p.width + p.cx) * plan.rules.boxes.unit_x;
        cy = (v[yx ? 0 : 1][a] * p.height + p.cy) * plan.rules.boxes.unit_y;
        w = exp_f32(v[yx ? 3 : 2][a]) * p.width * plan.rules.boxes.unit_x;
        h = exp_f32(v[yx ? 2 : 3][a]) * p.height * plan.rules.boxes.unit_y;
        break;
      }
      default: break;
    }
    out[a] = {cx - w * 0.5f, cy - h * 0.5f, cx + w * 0.5f, cy + h * 0.5f};
  }
  return out;
}

/// Anchors up to the model's own count.
uint32_t filled(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  if (!plan.layout[Part::kCount].present() || plan.layout.anchors == 0) return plan.layout.anchors;
  const TensorView& tensor = tensors[static_cast<size_t>(plan.layout[Part::kCount].tensor)];
  const size_t at = plan.layout[Part::kCount].at(image, 0) * size_of(tensor.type);
  const float count = load_element(tensor.type, static_cast<const std::byte*>(tensor.data) + at);
  if (std::isnan(count)) return 0;
  return static_cast<uint32_t>(std::clamp(count, 0.0f, float(plan.layout.anchors)));
}

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const Scores scores = plan.layout[Part::kScores].present() ? dense_scores(plan, tensors, image)
                                                     : ready_scores(plan, tensors, image);
  const auto boxes = boxes_of(plan, tensors, image);
  uint32_t count = 0, end = std::min(anchors.end, filled(plan, tensors, image));
  funnel.anchors = end - std::min(anchors.first, end);
  if (has(Bug::kTailDropped)) end -= end % 8;
  for (uint32_t a = end; a-- > anchors.first;) {  // from the end: the order is free
    const uint32_t id = scores.class_id[a];
    const float score = scores.score[a];
    const bool senseless = id >= plan.class_threshold.size();
    const float threshold = senseless || has(Bug::kClassThreshold) ? plan.rules.lowest_threshold
                                                                   : plan.class_threshold[id];
    if (!accepted(score, threshold, plan.rules.contract)) continue;
    ++funnel.above_threshold;
    const float sum = boxes[a].x1 * 0 + boxes[a].y1 * 0 + boxes[a].x2 * 0 + boxes[a].y2 * 0;
    if (senseless || !std::isfinite(score) || (sum != 0 && !has(Bug::kInfinityKept))) {
      ++funnel.not_finite;
      continue;
    }
    if (plan.class_wanted[id] != 0) out[count++] = {order_key(score, a, id), boxes[a]};
  }
  funnel.after_class_filter = count;
  return count;
}

uint32_t select(const Plan& plan, std::span<const Candidate> given, std::span<SortSlot>,
                std::span<Candidate> ordered) {
  const auto candidates = ordered.first(given.size());
  std::ranges::copy(given, candidates.begin());
  const auto rank = [](const Candidate& c) {
    float score = key_score(c.key);
    // A key cannot hold -0: this bug shows as an order of the equal zeros by anything else.
    if (has(Bug::kNegativeZero) && score == 0 && key_anchor(c.key) % 2) score = -1e-30f;
    const uint32_t anchor = key_anchor(c.key);
    return std::tuple(-score, has(Bug::kTieHighAnchor) ? ~anchor : anchor, key_class(c.key));
  };
  std::ranges::stable_sort(candidates, {}, rank);
  const uint32_t limit = plan.rules.pre_nms_top_k + (has(Bug::kTopKOffByOne) ? 1 : 0);
  return std::min(limit, static_cast<uint32_t>(candidates.size()));
}

bool hits(Box a, Box b, const Plan& plan) {
  const NmsContract& contract = plan.rules.contract;
  if (contract.reorder_corners && !has(Bug::kNoReorder))
    for (Box* box : {&a, &b}) {
      if (box->x1 > box->x2) std::swap(box->x1, box->x2);
      if (box->y1 > box->y2) std::swap(box->y1, box->y2);
    }
  const float pixel = contract.plus_one || has(Bug::kPlusOne) ? 1.0f : 0.0f;
  const auto size = [&](float low, float high) { return std::max(high - low + pixel, 0.0f); };
  const float w = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + pixel, 0.0f);
  const float h = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + pixel, 0.0f);
  const float areas = size(a.x1, a.x2) * size(a.y1, a.y2) + size(b.x1, b.x2) * size(b.y1, b.y2);
  const float both = has(Bug::kFusedUnion) ? std::fma(-w, h, areas) : areas - w * h;
  if (contract.empty_overlap &&
      (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) <= 0)
    return true;
  if (has(Bug::kProductTest)) return w * h > plan.rules.iou_threshold * both;
  const float iou = w * h / both;
  return contract.iou_inclusive || has(Bug::kIouInclusive) ? iou >= plan.rules.iou_threshold
                                                           : iou > plan.rules.iou_threshold;
}

bool agnostic(const Plan& plan) {
  return (plan.rules.contract.class_agnostic && !has(Bug::kClassCompared)) || has(Bug::kClassIgnored);
}

/// Strikes out what box i hits.
void strike(const Plan& plan, std::span<const Candidate> candidates, size_t i,
            std::vector<bool>& struck) {
  const auto id_of = [](const Candidate& c) { return key_class(c.key); };
  const bool shifted = has(Bug::kMaskShifted) && plan.rules.method == NmsMethod::kBitmask;
  const bool cut = has(Bug::kSegmentShort) && plan.rules.method == NmsMethod::kSegmented;
  for (size_t j = i + 1; j < candidates.size(); ++j) {
    const uint32_t id = id_of(candidates[j]);
    if (!agnostic(plan) && id != id_of(candidates[i])) continue;
    if (cut && std::ranges::count(candidates.subspan(j), id, id_of) == 1) continue;
    if (!hits(candidates[i].box, candidates[j].box, plan)) continue;
    const size_t at = j + (shifted && j / 64 != i / 64 ? 1 : 0);
    if (at < struck.size()) struck[at] = true;
  }
}

/// From the best box on: keep it, strike out what it hits.
uint32_t nms(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch&) {
  std::vector<bool> struck(candidates.size());
  std::vector<uint32_t> of_class(kMaxClasses);
  const bool fast = plan.rules.method == NmsMethod::kFast && !has(Bug::kFastByKept);
  if (fast)
    for (size_t i = candidates.size(); i-- > 0;) strike(plan, candidates, i, struck);
  const uint32_t limit = plan.rules.max_detections + (has(Bug::kLimitOffByOne) ? 1 : 0);
  uint32_t count = 0;
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const uint32_t id = key_class(candidates[i].key);
    if (struck[i] && !has(Bug::kSuppressedToo)) continue;
    const bool full = (plan.rules.contract.per_class_limit ? of_class[id] : count) >= limit;
    if (full && !has(Bug::kLimitSuppresses)) continue;
    if (!struck[i] && !full) {
      kept.data()[count++] = i;  // past the end with a bug; the guard zone sees it
      ++of_class[id];
    }
    if (!fast && plan.rules.method != NmsMethod::kNone) strike(plan, candidates, i, struck);
  }
  return count;
}

}  // namespace

bool is_planted(Bug bug) { return has(bug); }

Backend second_backend(Bug bug) {
  planted = bug;
  Backend backend = second_kernels();
  backend.runner = second_runner;
  return backend;
}

Backend second_kernels() {
  return {.name = "second",
          .summary = "The tests' own",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .decode = decode,
          .select = select,
          .nms = nms};
}

}  // namespace keepbox::test
