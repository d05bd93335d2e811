// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode by columns, selection by a stable sort of tuples, suppression by striking out.
#include "tests/parity/second_nms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "core/numeric.h"

namespace keepbox::test {

static Bug planted = Bug::kNone;
bool has(Bug bug) { return planted == bug; }

namespace {

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
    const bool later = plan.rules.contract.later_first && !has(Bug::kTieForgotten);
    const uint32_t place = later ? (1u << 21) - 1 - a : a;
    if (plan.class_wanted[id] != 0) out[count++] = {order_key(score, place, id), boxes[a]};
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
  const auto cut = [&](uint32_t count) { return std::min(limit, count); };
  auto count = static_cast<uint32_t>(candidates.size());
  if (has(Bug::kClassCutLate)) count = cut(count);
  if (plan.rules.pre_nms_class_top_k != 0) {
    std::map<uint32_t, uint32_t> of_class;
    const auto too_many = [&](const Candidate& c) {
      return ++of_class[key_class(c.key)] > plan.rules.pre_nms_class_top_k;
    };
    std::vector<Candidate> left(candidates.begin(), candidates.begin() + count);
    std::erase_if(left, too_many);
    count = static_cast<uint32_t>(std::ranges::copy(left, candidates.begin()).out -
                                  candidates.begin());
  }
  return cut(count);
}

}  // namespace

Backend second_backend(Bug bug) {
  planted = bug;
  return {.name = "second",
          .summary = "The tests' own",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .decode = decode,
          .select = select,
          .nms = second_nms};
}

}  // namespace keepbox::test
