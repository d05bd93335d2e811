// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: finds the anchors that pass and their classes with vectors, and lets the reference's
// code decode those.
#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/decode.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/numeric.h"
#include "core/reference/reference.h"

#ifndef KEEPBOX_SIMD_DECODE_ONCE
#define KEEPBOX_SIMD_DECODE_ONCE
namespace keepbox::simd {

/// Anchors of a block: their running best scores and classes stay in the first cache.
inline constexpr size_t kBlock = 1024;

struct Block {
  alignas(64) float best[kBlock];
  alignas(64) int32_t class_id[kBlock];
  alignas(64) int32_t passing[kBlock + 64];  // CompressStore may write a whole vector
};

/// Rows ahead of the one that is read: objectness stands in a cache line of its own in each, further
/// apart than hardware fetches by itself. Fetching past the end does no harm.
inline constexpr size_t kAhead = 32;

/// Class planes of one image.
struct Planes {
  const float* scores;  // of the first class
  size_t stride;        // numbers from plane to plane
  int32_t first_class, end_class;
  float threshold;
  bool inclusive;
};

}  // namespace keepbox::simd
#endif  // KEEPBOX_SIMD_DECODE_ONCE

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;

/// Replaces best and class where the score is greater: the first of equals stays, NaN never wins.
template <class V, class I>
HWY_INLINE void challenge(V score, I class_id, V& best, I& best_class) {
  const auto wins = hn::Gt(score, best);
  best = hn::IfThenElse(wins, score, best);
  best_class = hn::IfThenElse(hn::RebindMask(Ints(), wins), class_id, best_class);
}

/// Best scores and classes of anchors first..first+count, and the indices of those that pass.
/// Four planes at a time, so that the running bests are loaded and stored a quarter as often.
size_t ScanBlock(const Planes& planes, size_t first, size_t count, Block& block) {
  const Floats d;
  const Ints di;
  const size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const float* plane = planes.scores + first;
  for (int32_t c = planes.first_class; c < planes.end_class; c += 4) {
    const int32_t group = std::min(4, planes.end_class - c);
    for (size_t i = 0; i < count; i += lanes) {
      const size_t left = count - i;
      auto best = c == planes.first_class ? lowest : hn::Load(d, block.best + i);
      auto best_class = c == planes.first_class ? hn::Zero(di) : hn::Load(di, block.class_id + i);
      for (int32_t k = 0; k < group; ++k) {
        const float* at = plane + static_cast<size_t>(k) * planes.stride + i;
        const auto score = left >= lanes ? hn::LoadU(d, at) : hn::LoadN(d, at, left);
        challenge(score, hn::Set(di, c + k), best, best_class);
      }
      hn::Store(best, d, block.best + i);
      hn::Store(best_class, di, block.class_id + i);
    }
    plane += 4 * planes.stride;
  }
  const auto threshold = hn::Set(d, planes.threshold);
  size_t passing = 0;
  for (size_t i = 0; i < count; i += lanes) {
    const auto best = hn::Load(d, block.best + i);
    auto pass = planes.inclusive ? hn::Ge(best, threshold) : hn::Gt(best, threshold);
    pass = hn::And(pass, hn::FirstN(d, count - i));
    passing += hn::CompressStore(hn::Iota(di, static_cast<int32_t>(i)),
                                 hn::RebindMask(di, pass), di, block.passing + passing);
  }
  return passing;
}

/// Best class of a row of scores, each times `factor` first. The lowest of equal classes.
reference::Verdict BestOfRow(const float* scores, size_t first, size_t end, float factor,
                             bool multiply) {
  const Floats d;
  const Ints di;
  const size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto best_class = hn::Set(di, static_cast<int32_t>(kMaxClasses));
  for (size_t c = first; c < end; c += lanes) {
    const size_t left = end - c;
    auto score = left >= lanes ? hn::LoadU(d, scores + c) : hn::LoadN(d, scores + c, left);
    if (multiply) score = hn::Mul(score, by);
    if (left < lanes)
      score = hn::IfThenElse(hn::FirstN(d, left), score,
                             hn::Set(d, -std::numeric_limits<float>::infinity()));
    challenge(score, hn::Iota(di, static_cast<int32_t>(c)), best, best_class);
  }
  const float top = hn::ReduceMax(d, best);
  const auto equal = hn::RebindMask(di, hn::Eq(best, hn::Set(d, top)));
  const int32_t class_id = hn::ReduceMin(
      di, hn::IfThenElse(equal, best_class, hn::Set(di, static_cast<int32_t>(kMaxClasses))));
  return {top, static_cast<uint32_t>(class_id)};
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {
namespace {

HWY_EXPORT(ScanBlock);
HWY_EXPORT(BestOfRow);

bool plain_floats(const Field& field, std::span<const TensorView> tensors) {
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  return view.type == DataType::kFloat32 && view.scale == 1 && view.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(view.data) % alignof(float) == 0;
}

const float* start(const Field& field, std::span<const TensorView> tensors, uint32_t image) {
  return static_cast<const float*>(tensors[static_cast<size_t>(field.tensor)].data) +
         field.at(image, 0);
}

void decode_planes(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                   reference::Collector& out) {
  const Field& scores = plan.layout.scores;
  const Planes planes{.scores = start(scores, tensors, image) +
                                size_t{plan.first_class} * scores.channel_stride,
                      .stride = scores.channel_stride,
                      .first_class = static_cast<int32_t>(plan.first_class),
                      .end_class = static_cast<int32_t>(plan.end_class),
                      .threshold = plan.lowest_threshold,
                      .inclusive = plan.contract.score_inclusive};
  Block block;
  for (size_t first = 0; first < plan.layout.anchors; first += kBlock) {
    const size_t count = std::min(kBlock, plan.layout.anchors - first);
    const size_t passing = HWY_DYNAMIC_DISPATCH(ScanBlock)(planes, first, count, block);
    for (size_t i = 0; i < passing; ++i) {
      const auto at = static_cast<size_t>(block.passing[i]);
      out.take(static_cast<uint32_t>(first + at),
               {block.best[at], static_cast<uint32_t>(block.class_id[at])});
    }
  }
}

void decode_rows(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                 reference::Collector& out) {
  const Layout& layout = plan.layout;
  const bool product = plan.spec->score == ScoreRule::kProduct;
  const bool weighted = layout.objectness.present();
  const float* scores = start(layout.scores, tensors, image);
  const float* objectness = weighted ? start(layout.objectness, tensors, image) : nullptr;
  const auto best = HWY_DYNAMIC_POINTER(BestOfRow);
  for (uint32_t anchor = 0; anchor < layout.anchors; ++anchor) {
    if (weighted) hwy::Prefetch(objectness + (anchor + kAhead) * layout.objectness.anchor_stride);
    const float factor = weighted ? objectness[anchor * layout.objectness.anchor_stride] : 1.0f;
    if (weighted && !passes(factor, plan.lowest_threshold, plan.contract)) continue;
    reference::Verdict verdict = best(scores + anchor * layout.scores.anchor_stride,
                                      plan.first_class, plan.end_class, factor, product);
    if (weighted && !product) verdict.score = factor * verdict.score;
    out.take(anchor, verdict);
  }
}

}  // namespace

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                std::span<Candidate> out, Funnel& funnel) {
  const Layout& layout = plan.layout;
  const ScoreRule rule = plan.spec->score;
  const bool known = layout.scores.present() && plain_floats(layout.scores, tensors) &&
                     plan.spec->activation == Activation::kNone &&
                     (rule == ScoreRule::kClass || rule == ScoreRule::kProduct ||
                      rule == ScoreRule::kArgmaxFirst) &&
                     (!layout.objectness.present() || plain_floats(layout.objectness, tensors));
  const bool planes = known && layout.scores.anchor_stride == 1 && !layout.objectness.present();
  if (!planes && !(known && layout.scores.channel_stride == 1))
    return reference::decode(plan, tensors, image, out, funnel);
  reference::Collector collector(plan, tensors, image, out, funnel);
  funnel.anchors = layout.anchors;
  if (planes) decode_planes(plan, tensors, image, collector);
  else decode_rows(plan, tensors, image, collector);
  return collector.count();
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
