// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: from tensor numbers to candidates, one anchor after the other.
#include "core/reference/reference.h"

#include <limits>

#include "core/numeric.h"

namespace keepbox::reference {
namespace {

/// Tensor numbers of one image, by field.
struct Source {
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t image;

  float get(const Field& field, uint32_t anchor, uint32_t channel = 0) const {
    return load(tensors[static_cast<size_t>(field.tensor)], field.at(image, anchor, channel));
  }
};

/// Passes no threshold.
constexpr Verdict kNothing{.score = -std::numeric_limits<float>::infinity()};

float activate(const DetectorSpec& spec, float logit) {
  if (spec.activation != Activation::kSigmoid) return logit;
  if (spec.logit_limit > 0) {
    if (logit > spec.logit_limit) logit = spec.logit_limit;
    if (logit < -spec.logit_limit) logit = -spec.logit_limit;
  }
  return sigmoid(logit);
}

/// Softmax of the best logit over all classes, background included, summed in class order.
float softmax_of(const Source& from, uint32_t anchor, float best) {
  const Layout& layout = from.plan.layout;
  float largest = best;
  for (uint32_t c = 0; c < layout.classes; ++c) {
    const float logit = from.get(layout.scores, anchor, c);
    if (logit > largest) largest = logit;
  }
  float sum = 0;
  for (uint32_t c = 0; c < layout.classes; ++c)
    sum = sum + exp_f32(from.get(layout.scores, anchor, c) - largest);
  return exp_f32(best - largest) / sum;
}

/// The best class: the first of equals; NaN is never best.
Verdict best_class(const Source& from, uint32_t anchor, float objectness) {
  const Plan& plan = from.plan;
  const DetectorSpec& spec = *plan.spec;
  const bool product = spec.score == ScoreRule::kProduct;
  Verdict best;
  for (uint32_t c = plan.first_class; c < plan.end_class; ++c) {
    const float raw = from.get(plan.layout.scores, anchor, c);
    const float value = product ? objectness * activate(spec, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  if (best.class_id == kMaxClasses || product) return best;
  best.score = spec.activation == Activation::kSoftmax ? softmax_of(from, anchor, best.score)
                                                       : activate(spec, best.score);
  if (spec.score == ScoreRule::kArgmaxFirst) best.score = objectness * best.score;
  return best;
}

Verdict judge(const Source& from, uint32_t anchor) {
  const Layout& layout = from.plan.layout;
  if (layout.scores.present()) {
    if (!layout.objectness.present()) return best_class(from, anchor, 1.0f);
    const float objectness = activate(*from.plan.spec, from.get(layout.objectness, anchor));
    // As in YOLOv5's own code: an anchor has to pass by its objectness alone, too.
    if (!passes(objectness, from.plan.lowest_threshold, from.plan.contract)) return kNothing;
    return best_class(from, anchor, objectness);
  }
  Verdict verdict{from.get(layout.score, anchor), 0};
  if (layout.class_id.present()) {
    const float id = from.get(layout.class_id, anchor);
    const bool sensible = id >= 0.0f && id < static_cast<float>(kMaxClasses);  // false for NaN
    verdict.class_id = sensible ? static_cast<uint32_t>(id) : kMaxClasses;
  }
  return verdict;
}

Box from_center(float cx, float cy, float w, float h) {
  const float half_w = w * 0.5f, half_h = h * 0.5f;
  return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
}

Box on_grid(const Plan& plan, uint32_t anchor, const float (&v)[4]) {
  const Level* level = plan.levels.data();
  for (const Level& each : plan.levels)
    if (anchor >= each.first_anchor) level = &each;
  const uint32_t cell = anchor - level->first_anchor;
  const float x = static_cast<float>(cell % level->width) + plan.spec->cell_offset;
  const float y = static_cast<float>(cell / level->width) + plan.spec->cell_offset;
  return from_center((v[0] + x) * level->stride, (v[1] + y) * level->stride,
                     exp_f32(v[2]) * level->stride, exp_f32(v[3]) * level->stride);
}

Box by_prior(const Plan& plan, uint32_t anchor, float tx, float ty, float tw, float th) {
  const Prior& prior = plan.priors[anchor];
  return from_center((tx * prior.width + prior.cx) * plan.unit_x,
                     (ty * prior.height + prior.cy) * plan.unit_y,
                     exp_f32(tw) * prior.width * plan.unit_x,
                     exp_f32(th) * prior.height * plan.unit_y);
}

/// The box in model pixels.
Box box_of(const Source& from, uint32_t anchor) {
  const Plan& plan = from.plan;
  float v[4];
  for (uint32_t i = 0; i < 4; ++i)
    v[i] = from.get(plan.layout.box, anchor, i) * plan.spec->box_scale[i];
  const float ux = plan.unit_x, uy = plan.unit_y;
  switch (plan.spec->coding) {
    case BoxCoding::kCorners: return {v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy};
    case BoxCoding::kCornersYX: return {v[1] * ux, v[0] * uy, v[3] * ux, v[2] * uy};
    case BoxCoding::kGridExp: return on_grid(plan, anchor, v);
    case BoxCoding::kPriorDelta: return by_prior(plan, anchor, v[1], v[0], v[3], v[2]);
    case BoxCoding::kPriorDeltaXY: return by_prior(plan, anchor, v[0], v[1], v[2], v[3]);
    default: return from_center(v[0] * ux, v[1] * uy, v[2] * ux, v[3] * uy);
  }
}

bool finite(const Box& b) {
  return is_finite(b.x1) && is_finite(b.y1) && is_finite(b.x2) && is_finite(b.y2);
}

/// Anchors that count: all, or as many as the model says it found.
uint32_t anchors_of(const Source& from) {
  const Layout& layout = from.plan.layout;
  if (!layout.count.present()) return layout.anchors;
  const float count = from.get(layout.count, 0);
  if (!(count > 0.0f)) return 0;
  return count < static_cast<float>(layout.anchors) ? static_cast<uint32_t>(count)
                                                    : layout.anchors;
}

}  // namespace

void Collector::take(uint32_t anchor, Verdict verdict) {
  const bool classed = verdict.class_id < plan_.class_threshold.size();
  const float threshold =
      classed ? plan_.class_threshold[verdict.class_id] : plan_.lowest_threshold;
  if (!passes(verdict.score, threshold, plan_.contract)) return;
  ++funnel_.above_threshold;
  const Box box = box_of({plan_, tensors_, image_}, anchor);
  if (!classed || !is_finite(verdict.score) || !finite(box)) {
    ++funnel_.not_finite;
    return;
  }
  if (plan_.class_wanted[verdict.class_id] == 0) return;
  out_[count_++] = {order_key(verdict.score, anchor, verdict.class_id), box};
  funnel_.after_class_filter = count_;
}

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                std::span<Candidate> out, Funnel& funnel) {
  const Source from{plan, tensors, image};
  Collector candidates(plan, tensors, image, out, funnel);
  funnel.anchors = anchors_of(from);
  for (uint32_t anchor = 0; anchor < funnel.anchors; ++anchor)
    candidates.take(anchor, judge(from, anchor));
  return candidates.count();
}

}  // namespace keepbox::reference
