// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: from tensor numbers to candidates, one anchor after the other.
#include "core/reference/reference.h"

#include <algorithm>

#include "core/coding.h"

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
  const ScoreRules& rules = plan.scores;
  const bool product = rules.rule == ScoreRule::kProduct;
  Verdict best;
  for (uint32_t c = plan.first_class; c < plan.end_class; ++c) {
    const float raw = from.get(plan.layout.scores, anchor, c);
    const float value = product ? objectness * activate(rules, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  if (best.class_id == kMaxClasses || product) return best;
  best.score = rules.activation == Activation::kSoftmax ? softmax_of(from, anchor, best.score)
                                                       : activate(rules, best.score);
  if (rules.rule == ScoreRule::kArgmaxFirst) best.score = objectness * best.score;
  return best;
}

/// The box in model pixels.
Box box_of(const Source& from, uint32_t anchor) {
  const Plan& plan = from.plan;
  float raw[4];
  for (uint32_t i = 0; i < 4; ++i) raw[i] = from.get(plan.layout.box, anchor, i);
  return decode_box(plan.boxes, plan.priors.data(), anchor, raw);
}

/// Anchors that count: all, or as many as the model says it found.
uint32_t anchors_of(const Source& from) {
  const Layout& layout = from.plan.layout;
  if (!layout.count.present()) return layout.anchors;
  return filled_rows(from.get(layout.count, 0), layout.anchors);
}

}  // namespace

Verdict judge(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
              uint32_t anchor) {
  const Source from{plan, tensors, image};
  const Layout& layout = plan.layout;
  if (layout.scores.present()) {
    if (!layout.objectness.present()) return best_class(from, anchor, 1.0f);
    const float objectness = activate(plan.scores, from.get(layout.objectness, anchor));
    // As in YOLOv5's own code: an anchor has to pass by its objectness alone, too.
    if (!passes(objectness, plan.lowest_threshold, plan.contract)) return {};
    return best_class(from, anchor, objectness);
  }
  Verdict verdict{from.get(layout.score, anchor), 0};
  if (layout.class_id.present()) verdict.class_id = class_of(from.get(layout.class_id, anchor));
  return verdict;
}

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
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const Source from{plan, tensors, image};
  Collector candidates(plan, tensors, image, out, funnel);
  const uint32_t end = std::min(anchors.end, anchors_of(from));
  funnel.anchors = end - std::min(anchors.first, end);
  for (uint32_t anchor = anchors.first; anchor < end; ++anchor)
    candidates.take(anchor, judge(plan, tensors, image, anchor));
  return candidates.count();
}

}  // namespace keepbox::reference
