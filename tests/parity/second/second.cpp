// SPDX-License-Identifier: LGPL-2.1-or-later
// Decoding by columns, selection by a stable sort of tuples, suppression by removal.
#include "tests/parity/second/second.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/formula/numeric.h"
#include "tests/parity/second/nms.h"
#include "tests/parity/second/parts.h"

namespace keepbox::test {

static Bug planted = Bug::kNone;
bool has(Bug bug) { return planted == bug; }

std::vector<float> column(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                          FieldId part, uint32_t channel) {
  std::vector<float> out;
  if (has(Bug::kFirstImageOnly)) image = 0;
  for (const Segment& segment : plan.layout.segments) {
    const Field& field = segment[part];
    const TensorView& tensor = tensors[static_cast<size_t>(field.tensor)];
    auto base = reinterpret_cast<uintptr_t>(tensor.data);
    if (has(Bug::kAlignedLoads)) base &= ~uintptr_t{15};
    const size_t size = size_of(tensor.type);
    const bool pointed = plan.layout.indexed != 0 && part != FieldId::kIndices;
    for (uint32_t a = 0; a < (pointed ? plan.layout.indexed : segment.count); ++a) {
      const size_t at = field.at(image, a, channel) * size;
      const float stored = load_element(tensor.type, reinterpret_cast<const char*>(base) + at);
      const bool zero = !has(Bug::kZeroPoint);
      out.push_back(zero ? (stored - tensor.zero_point) * tensor.scale : stored * tensor.scale);
    }
  }
  return out;
}

bool there(const Plan& plan, FieldId part) { return plan.layout[part].present(); }

namespace {

/// Returns the number of anchors: the model's own count, or those before an invalid row.
uint32_t filled(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  if (there(plan, FieldId::kImage)) {
    const auto images = column(plan, tensors, image, FieldId::kImage, 0);
    const auto none = std::ranges::find_if(images, [](float i) { return i < 0; });
    return static_cast<uint32_t>(none - images.begin());
  }
  if (!there(plan, FieldId::kCount) || plan.layout.anchors == 0) return plan.layout.anchors;
  const TensorView& tensor = tensors[static_cast<size_t>(plan.layout[FieldId::kCount].tensor)];
  const size_t at = plan.layout[FieldId::kCount].at(image, 0) * size_of(tensor.type);
  const float count = load_element(tensor.type, static_cast<const std::byte*>(tensor.data) + at);
  if (std::isnan(count)) return 0;
  return static_cast<uint32_t>(std::clamp(count, 0.0f, float(plan.layout.anchors)));
}

/// Returns the box of a row: its own, or the one it refers to.
Box box_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           const std::vector<Box>& boxes, uint32_t row) {
  if (plan.layout.indexed == 0) return boxes[row];
  const auto anchors = column(plan, tensors, image, FieldId::kIndices, 2);
  return boxes[has(Bug::kRowForIndex) ? std::min<size_t>(row, boxes.size() - 1)
                                      : static_cast<size_t>(anchors[row])];
}

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const auto found = plan.layout.indexed != 0        ? indexed_scores(plan, tensors, image)
                     : there(plan, FieldId::kScores) ? dense_scores(plan, tensors, image)
                                                     : ready_scores(plan, tensors, image);
  const auto boxes = boxes_of(plan, tensors, image);
  std::vector<float> angles(boxes.size());
  if (there(plan, FieldId::kAngle) && !has(Bug::kAngleForgotten))
    angles = column(plan, tensors, image, FieldId::kAngle, 0);
  uint32_t count = 0, end = std::min(anchors.end, filled(plan, tensors, image));
  funnel.anchors = end - std::min(anchors.first, end);
  if (has(Bug::kTailDropped)) end -= end % 8;
  for (size_t i = found.size(); i-- > 0;) {  // from the end, because the order is free
    const auto [a, score, id] = found[i];
    if (a < anchors.first || a >= end) continue;
    const bool lint_settings = id >= plan.class_threshold.size();
    const float threshold = lint_settings || has(Bug::kClassThreshold) ? plan.rules.lowest_threshold
                                                                       : plan.class_threshold[id];
    if (!accepted(score, threshold, plan.rules.contract)) continue;
    ++funnel.above_threshold;
    const Box box = box_of(plan, tensors, image, boxes, a);
    const float angle = plan.rules.oriented ? angles[a] : 0;
    const float sum = box.x1 * 0 + box.y1 * 0 + box.x2 * 0 + box.y2 * 0 + angle * 0;
    if (lint_settings || !std::isfinite(score) || (sum != 0 && !has(Bug::kInfinityKept))) {
      ++funnel.not_finite;
      continue;
    }
    const bool later = plan.rules.contract.later_first && !has(Bug::kTieForgotten);
    const uint32_t number = later ? (1u << 21) - 1 - a : a;
    if (plan.class_wanted[id] != 0) out[count++] = {order_key(score, number, id), box, angle};
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
    // A key cannot hold -0: this bug appears as a wrong order of equal zeros.
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
    count =
        static_cast<uint32_t>(std::ranges::copy(left, candidates.begin()).out - candidates.begin());
  }
  return cut(count);
}

}  // namespace

bool is_planted(Bug bug) { return has(bug); }

const HostKernels& second_kernels() {
  static constexpr HostKernels kernels = {
      .decode = decode, .select = select, .nms = second_nms, .payload = nullptr, .masks = nullptr};
  return kernels;
}

Backend second_backend(Bug bug) {
  planted = bug;
  return {.name = "second",
          .summary = "The tests' own",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .runner = second_runner,
          .kernels = &second_kernels()};
}

}  // namespace keepbox::test
