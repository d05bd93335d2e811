// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes by columns and levels.
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "core/formula/numeric.h"
#include "tests/parity/second/nms.h"
#include "tests/parity/second/parts.h"

namespace keepbox::test {
namespace {

/// Returns the four values of all boxes: raw, or the means of bins.
std::array<std::vector<float>, 4> sides_of(const Plan& plan, std::span<const TensorView> tensors,
                                           uint32_t image) {
  std::array<std::vector<float>, 4> out;
  const uint32_t bins = plan.spec->bins;
  for (uint32_t side = 0; side < 4; ++side) {
    const bool apart = side >= 2 && there(plan, FieldId::kSizes);
    out[side] = column(plan, tensors, image, apart ? FieldId::kSizes : FieldId::kBox,
                       apart ? side - 2 : side * bins);
    if (bins == 1) continue;
    std::vector<std::vector<float>> logits;
    for (uint32_t i = 0; i < bins; ++i)
      logits.push_back(column(plan, tensors, image, FieldId::kBox, side * bins + i));
    for (size_t a = 0; a < out[side].size(); ++a) {
      float top = -std::numeric_limits<float>::infinity(), sum = 0, mean = 0;
      for (const auto& logit : logits) top = logit[a] > top ? logit[a] : top;
      for (uint32_t i = 0; i < bins; ++i) {
        const float weight = exp_f32(logits[i][a] - top);
        sum += weight;
        mean += weight * float(has(Bug::kBinsFromOne) ? i + 1 : i);
      }
      out[side][a] = mean / sum;
    }
  }
  if (plan.spec->box_yx != has(Bug::kPriorSwapped)) {
    std::swap(out[0], out[1]);
    std::swap(out[2], out[3]);
  }
  for (uint32_t side = 0; side < 4; ++side)
    for (float& number : out[side]) number *= plan.spec->box_scale[side];
  return out;
}

Box around(float cx, float cy, float w, float h) {
  return {cx - w * 0.5f, cy - h * 0.5f, cx + w * 0.5f, cy + h * 0.5f};
}

/// Computes boxes on grids, level by level in cell order.
void place(const Plan& plan, const std::array<std::vector<float>, 4>& v, std::vector<Box>& out) {
  const BoxRules& rules = plan.rules.boxes;
  for (uint32_t l = 0; l < rules.level_count; ++l) {
    const Level& level = plan.levels[l];
    const size_t end = l + 1 < rules.level_count ? plan.levels[l + 1].first_anchor : out.size();
    for (size_t a = level.first_anchor; a < end; ++a) {
      const size_t number = a - level.first_anchor, cell = number / level.cell_anchors;
      float x = float(cell % level.width) + plan.spec->cell_offset;
      float y = float(cell / level.width) + plan.spec->cell_offset;
      if (has(Bug::kGridTransposed)) std::swap(x, y);
      const float s = level.stride;
      const AnchorSize size =
          plan.anchor_sizes.empty()
              ? AnchorSize{}
              : plan.anchor_sizes[level.first_size + number % level.cell_anchors];
      const auto twice = [](float logit) { return 2 * sigmoid(logit); };
      switch (plan.spec->coding) {
        case BoxCoding::kGridSize:
          out[a] = around((v[0][a] + x) * s, (v[1][a] + y) * s, v[2][a] * s, v[3][a] * s);
          break;
        case BoxCoding::kGridPixels:
          out[a] = around(v[0][a] + x * s, v[1][a] + y * s, v[2][a], v[3][a]);
          break;
        case BoxCoding::kGridSigmoid: {
          const float w = twice(v[2][a]), h = twice(v[3][a]);
          const float back = has(Bug::kCellCentre) ? 0.0f : 0.5f;
          out[a] = around((twice(v[0][a]) + (x - back)) * s, (twice(v[1][a]) + (y - back)) * s,
                          w * w * size.width, h * h * size.height);
          break;
        }
        case BoxCoding::kGridDarknet: {
          const float k = has(Bug::kCellCentre) ? 1.0f : level.xy_scale, less = (k - 1) * 0.5f;
          out[a] =
              around((sigmoid(v[0][a]) * k - less + x) * s, (sigmoid(v[1][a]) * k - less + y) * s,
                     exp_f32(v[2][a]) * size.width, exp_f32(v[3][a]) * size.height);
          break;
        }
        case BoxCoding::kDistances:
        case BoxCoding::kDistanceBins:
          x = x * level.step_x, y = y * level.step_y;
          out[a] = {x - v[0][a] * s, y - v[1][a] * s, x + v[2][a] * s, y + v[3][a] * s};
          break;
        case BoxCoding::kGridExp:
          out[a] = around((v[0][a] + x) * s, (v[1][a] + y) * s, exp_f32(v[2][a]) * s,
                          exp_f32(v[3][a]) * s);
          break;
        case BoxCoding::kCenterSize:
        case BoxCoding::kCorners:
        case BoxCoding::kTopLeftSize:
        case BoxCoding::kPriorDelta: break;  // without cells
      }
    }
  }
}

}  // namespace

std::vector<Box> boxes_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  const auto v = sides_of(plan, tensors, image);
  std::vector<Box> out(v[0].size());
  const float ux = plan.rules.boxes.unit_x, uy = plan.rules.boxes.unit_y;
  const float most = plan.spec->delta_limit > 0 && !has(Bug::kDeltaUnlimited)
                         ? plan.spec->delta_limit
                         : std::numeric_limits<float>::infinity();
  const auto grown = [&](float delta) { return exp_f32(delta > most ? most : delta); };
  for (size_t a = 0; a < out.size(); ++a) {
    const float x = v[0][a], y = v[1][a], w = v[2][a], h = v[3][a];
    switch (plan.spec->coding) {
      case BoxCoding::kCorners: out[a] = {x * ux, y * uy, w * ux, h * uy}; break;
      case BoxCoding::kTopLeftSize: out[a] = {x * ux, y * uy, (x + w) * ux, (y + h) * uy}; break;
      case BoxCoding::kCenterSize: out[a] = around(x * ux, y * uy, w * ux, h * uy); break;
      case BoxCoding::kPriorDelta: {
        const Prior& p = plan.priors[a];
        out[a] = around((x * p.width + p.cx) * ux, (y * p.height + p.cy) * uy,
                        grown(w) * p.width * ux, grown(h) * p.height * uy);
        break;
      }
      case BoxCoding::kGridExp:
      case BoxCoding::kGridSize:
      case BoxCoding::kGridPixels:
      case BoxCoding::kGridSigmoid:
      case BoxCoding::kGridDarknet:
      case BoxCoding::kDistances:
      case BoxCoding::kDistanceBins: break;  // by place()
    }
  }
  place(plan, v, out);
  return out;
}

}  // namespace keepbox::test
