// SPDX-License-Identifier: LGPL-2.1-or-later
// Decoding by columns, selection by a stable sort of tuples, suppression by removal.
#include "tests/parity/second_nms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "core/formula/numeric.h"

namespace keepbox::test {

static Bug planted = Bug::kNone;
bool has(Bug bug) { return planted == bug; }

namespace {

/// Returns one channel of a part for all anchors of an image.
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

/// A box with its score, class and anchor.
struct Found {
  uint32_t anchor;
  float score;
  uint32_t class_id;
};

bool accepted(float score, float threshold, const NmsContract& contract) {
  if (has(Bug::kNanScore)) return !(score < threshold);
  return contract.score_inclusive || has(Bug::kScoreInclusive) ? score >= threshold
                                                               : score > threshold;
}

bool better(float value, float best) { return has(Bug::kLastClass) ? value >= best : value > best; }

float logistic(const DetectorSpec& spec, float logit) {
  if (spec.logit_limit > 0 && !has(Bug::kLogitUnlimited))
    logit = logit > spec.logit_limit    ? spec.logit_limit
            : logit < -spec.logit_limit ? -spec.logit_limit
                                        : logit;
  return sigmoid(logit);
}

/// Activated class scores and the objectness of all anchors.
struct Planes {
  std::vector<std::vector<float>> raw, active;  // by class
  std::vector<float> objectness;
};

Planes planes_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
  const DetectorSpec& spec = *plan.spec;
  const uint32_t n = plan.layout.anchors;
  Planes out{.objectness = std::vector<float>(n, 1.0f)};
  if (there(plan, FieldId::kObjectness)) {
    out.objectness = column(plan, tensors, image, FieldId::kObjectness, 0);
    if (spec.activation == Activation::kSigmoid)
      for (float& o : out.objectness) o = logistic(spec, o);
  }
  for (uint32_t c = 0; c < plan.layout.classes; ++c)
    out.raw.push_back(column(plan, tensors, image, FieldId::kScores, c));
  out.active = out.raw;
  if (spec.activation == Activation::kSigmoid)
    for (auto& plane : out.active)
      for (float& score : plane) score = logistic(spec, score);
  if (spec.activation != Activation::kSoftmax) return out;
  for (uint32_t a = 0; a < n; ++a) {
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (const auto& plane : out.raw) top = plane[a] > top ? plane[a] : top;
    if (has(Bug::kSoftmaxOverflow)) top = 0;
    for (const auto& plane : out.raw) sum += exp_f32(plane[a] - top);
    for (uint32_t c = 0; c < plan.layout.classes; ++c)
      out.active[c][a] = exp_f32(out.raw[c][a] - top) / sum;
  }
  return out;
}

float joined(const Plan& plan, float objectness, float score) {
  const auto share = [](float x) { return x < 0 ? 0 : x > 1 ? 1 : x; };
  switch (plan.spec->score) {
    case ScoreRule::kClass: return score;
    case ScoreRule::kGeometricMean:
      return has(Bug::kMeanByProduct) ? share(objectness) * share(score)
                                      : std::sqrt(share(objectness) * share(score));
    case ScoreRule::kObjectness:
      return plan.layout.classes == 1 && !has(Bug::kLoneClassCounts) ? objectness
                                                                     : objectness * score;
    default: return objectness * score;
  }
}

/// True if an adjacent cell is better, by the whole map at once.
bool beaten(const Plan& plan, const Planes& planes, const Found& found) {
  const Level& level = plan.levels[0];
  const auto width = static_cast<int>(level.width);
  const auto cells = static_cast<int>(plan.layout.anchors);
  const auto at = static_cast<int>(found.anchor);
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const int x = at % width + dx, other = at + dy * width + dx;
      if (x < 0 || x >= width || other < 0 || other >= cells) continue;
      if (has(Bug::kPeaksOfRow) && dy != 0) continue;
      if (planes.active[found.class_id][static_cast<size_t>(other)] > found.score) return true;
    }
  return false;
}

/// Returns the best class of each anchor, or all classes.
std::vector<Found> dense_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image) {
  const Planes planes = planes_of(plan, tensors, image);
  const ScoreRule rule = plan.spec->score;
  bool product =
      rule == ScoreRule::kProduct || (rule == ScoreRule::kObjectness && plan.layout.classes > 1);
  if (has(Bug::kArgmaxFirst) && product) product = false;
  if (has(Bug::kProductFirst) && rule == ScoreRule::kArgmaxFirst) product = true;
  const bool all = plan.rules.multi_label && !has(Bug::kOneLabel);
  std::vector<Found> out;
  for (uint32_t a = 0; a < plan.layout.anchors; ++a) {
    const float objectness = planes.objectness[a];
    if (there(plan, FieldId::kObjectness) && rule != ScoreRule::kGeometricMean &&
        !accepted(objectness, plan.rules.lowest_threshold, plan.rules.contract))
      continue;
    float best = 0;
    uint32_t best_class = kMaxClasses;
    for (uint32_t c = plan.rules.first_class; c < plan.rules.end_class; ++c) {
      if (has(Bug::kFilterFirst) && plan.class_wanted[c] == 0) continue;
      if (all) {
        out.push_back({a, joined(plan, objectness, planes.active[c][a]), c});
        continue;
      }
      const float value = product ? objectness * planes.active[c][a] : planes.raw[c][a];
      if (std::isnan(value) || (best_class != kMaxClasses && !better(value, best))) continue;
      best = value;
      best_class = c;
    }
    if (!all && rule == ScoreRule::kObjectness && plan.layout.classes == 1) best_class = 0;
    if (!all && best_class != kMaxClasses)
      out.push_back({a, joined(plan, objectness, planes.active[best_class][a]), best_class});
  }
  if (plan.spec->peaks && !has(Bug::kNoPeaks))
    std::erase_if(out, [&](const Found& found) { return beaten(plan, planes, found); });
  return out;
}

std::vector<Found> ready_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image) {
  const auto scores = column(plan, tensors, image, FieldId::kScore, 0);
  std::vector<float> ids(scores.size()), images(scores.size(), float(image));
  if (there(plan, FieldId::kClassId)) ids = column(plan, tensors, image, FieldId::kClassId, 0);
  if (there(plan, FieldId::kImage)) images = column(plan, tensors, image, FieldId::kImage, 0);
  std::vector<Found> out;
  for (uint32_t a = 0; a < scores.size(); ++a) {
    if (images[a] != float(image) && !has(Bug::kAnyImage)) continue;
    const bool sensible = ids[a] >= 0 && ids[a] < float(kMaxClasses);
    out.push_back({a, scores[a], sensible ? static_cast<uint32_t>(ids[a]) : kMaxClasses});
  }
  return out;
}

/// Returns rows that index boxes and scores, without those of the background.
std::vector<Found> indexed_scores(const Plan& plan, std::span<const TensorView> tensors,
                                  uint32_t image) {
  const Background background = plan.spec->background;
  const uint32_t before = background == Background::kFirst ? 1 : 0;
  const uint32_t end = plan.layout.classes - (background == Background::kLast ? 1 : 0);
  std::vector<float> index[3];
  for (uint32_t i = 0; i < 3; ++i) index[i] = column(plan, tensors, image, FieldId::kIndices, i);
  std::vector<Found> out;
  for (uint32_t row = 0; row < plan.layout.anchors; ++row) {
    if (index[0][row] != float(image)) continue;
    if (!(index[1][row] >= float(before)) || index[1][row] >= float(end)) continue;
    if (!(index[2][row] >= 0) || index[2][row] >= float(plan.layout.indexed)) continue;
    const auto id = static_cast<uint32_t>(index[1][row]);
    const auto scores = column(plan, tensors, image, FieldId::kScores, id);
    out.push_back({row, scores[static_cast<size_t>(index[2][row])], id});
  }
  return out;
}

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
        default:
          out[a] = around((v[0][a] + x) * s, (v[1][a] + y) * s, exp_f32(v[2][a]) * s,
                          exp_f32(v[3][a]) * s);
      }
    }
  }
}

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
      default: break;
    }
  }
  place(plan, v, out);
  return out;
}

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
