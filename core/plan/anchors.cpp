// SPDX-License-Identifier: LGPL-2.1-or-later
// Anchors, priors and payloads of a plan.
#include "core/plan/anchors.h"

#include <algorithm>
#include <cmath>

#include "core/formula/mask.h"
#include "core/model/nms_methods.h"
#include "core/recognition/maps.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

/// Returns the grids of an input, for anchors in a single tensor.
std::vector<Grid> grids_over(Size model, const DetectorSpec& spec, uint32_t levels) {
  std::vector<Grid> out;
  uint32_t first = 0;
  for (uint32_t level = 0; level < levels; ++level) {
    const Size cells = level_cells(model, spec.strides[level]);
    const uint32_t anchors = spec.anchors_of(level), count = cells.width * cells.height;
    const uint32_t grids_per_level = spec.interleaved ? 1 : anchors;
    for (uint32_t anchor = 0; anchor < grids_per_level; ++anchor) {
      out.push_back({.first = first,
                     .level = level,
                     .anchor = anchor,
                     .cell_anchors = anchors / grids_per_level,
                     .count = count * (anchors / grids_per_level),
                     .cells = cells});
      first += count * (anchors / grids_per_level);
    }
  }
  return out;
}

std::unexpected<Error> fail_grid(const DetectorSpec& spec, uint32_t wanted, Size model,
                                 uint32_t found, bool known) {
  return fail(
      ErrorKind::kMismatch,
      std::to_string(wanted) + " anchors for an input of " + std::to_string(model.width) + "x" +
          std::to_string(model.height),
      std::to_string(found),
      std::string(known ? "" : "set model-size=") +
          (spec.priors ? std::string(known ? "set" : ", or") +
                             " priors-file= in a detector file to the model's table of cy cx h w"
                       : ""));
}

/// Returns the grids of the tensors; for tensors without feature maps the cells are computed.
Result<std::vector<Grid>> settle_grids(const Layout& layout, Size model, bool known) {
  if (layout.grids.empty()) {
    const uint32_t wanted = grid_anchors(model, *layout.spec, layout.levels);
    if (wanted != layout.anchors)
      return fail_grid(*layout.spec, wanted, model, layout.anchors, known);
    return grids_over(model, *layout.spec, layout.levels);
  }
  std::vector<Grid> out = layout.grids;
  for (Grid& grid : out) {
    const Size cells = level_cells(model, layout.spec->strides[grid.level]);
    if (grid.cells.width == 0) grid.cells = cells;
    const uint64_t anchors = uint64_t{cells.width} * cells.height * grid.cell_anchors;
    if (grid.cells != cells || anchors != grid.count)
      return fail_grid(*layout.spec, static_cast<uint32_t>(std::min<uint64_t>(anchors, UINT32_MAX)),
                       model, grid.count, known);
  }
  return out;
}

/// Returns the index of a level's first anchor size.
uint32_t first_size(const DetectorSpec& spec, uint32_t level) {
  uint32_t first = 0;
  for (uint32_t before = 0; before < level; ++before) first += spec.anchors_of(before);
  return first;
}

/// Rounds half to even, as torch.round().
float rounded_side(float side) { return 2 * std::nearbyint(side / 2); }

/// Returns the anchor sizes per cell of a level, in pixels.
std::vector<AnchorSize> sizes_of(const DetectorSpec& spec, uint32_t level) {
  const AnchorRule& rule = spec.anchors;
  const uint32_t first = first_size(spec, level), count = spec.anchors_of(level);
  std::vector<AnchorSize> out;
  if (!rule.sizes.empty()) {
    for (uint32_t i = first; i < first + count && i < rule.sizes.size(); ++i)
      out.push_back(rule.sizes[i]);
    return out;
  }
  const float side = rule.base * static_cast<float>(spec.strides[level]);
  const auto add = [&](float scale, AnchorSize ratio) {
    const float scaled = rule.integer_sides ? std::trunc(side * scale) : side * scale;
    AnchorSize size{scaled * ratio.width, scaled * ratio.height};
    if (rule.integer_sides) size = {rounded_side(size.width), rounded_side(size.height)};
    out.push_back(size);
  };
  if (rule.scales_inner)
    for (const AnchorSize ratio : rule.ratios)
      for (const float scale : rule.scales) add(scale, ratio);
  else
    for (const float scale : rule.scales)
      for (const AnchorSize ratio : rule.ratios) add(scale, ratio);
  return out;
}

Status fail_sizes(const DetectorSpec& spec) {
  return reject(ErrorKind::kInvalid,
                std::string(spec.name) + " has fewer anchor sizes than anchors per cell",
                "complete the family's anchors");
}

struct Step {
  float x, y;
};

/// Returns the distance between the cells of a level.
Step step_of(const DetectorSpec& spec, const Grid& grid, Size model) {
  const auto stride = static_cast<float>(spec.strides[grid.level]);
  if (grid.cells.width == 0 || grid.cells.height == 0) return {stride, stride};
  const Step even{static_cast<float>(model.width) / static_cast<float>(grid.cells.width),
                  static_cast<float>(model.height) / static_cast<float>(grid.cells.height)};
  if (spec.anchors.of_grid) return even;
  return spec.anchors.integer_sides ? Step{std::floor(even.x), std::floor(even.y)}
                                    : Step{stride, stride};
}

/// Computes prior boxes in fractions of the input.
Status make_priors(Plan& plan, const std::vector<Grid>& grids, Size model) {
  const DetectorSpec& spec = *plan.spec;
  const auto w = static_cast<float>(model.width), h = static_cast<float>(model.height);
  const float side = spec.anchors.input;
  const auto share = [&](float length, float of_input) {
    const float out = length / (side > 0 ? side : of_input);
    return spec.anchors.clipped ? std::min(out, 1.0f) : out;
  };
  plan.priors.reserve(plan.layout.anchors);
  for (const Grid& grid : grids) {
    const auto sizes = sizes_of(spec, grid.level);
    if (sizes.size() < grid.anchor + grid.cell_anchors) return fail_sizes(spec);
    const Step step = step_of(spec, grid, model);
    for (uint32_t i = 0; i < grid.count; ++i) {
      const uint32_t cell = i / grid.cell_anchors;
      const AnchorSize size = sizes[grid.anchor + i % grid.cell_anchors];
      const float x = static_cast<float>(cell % grid.cells.width) + spec.cell_offset;
      const float y = static_cast<float>(cell / grid.cells.width) + spec.cell_offset;
      plan.priors.push_back(
          {x * step.x / w, y * step.y / h, share(size.width, w), share(size.height, h)});
    }
  }
  return {};
}

/// Fills the levels for codings with cells, and for score maps whose peaks count.
Status make_levels(Plan& plan, const std::vector<Grid>& grids, Size model) {
  const DetectorSpec& spec = *plan.spec;
  for (const Grid& grid : grids) {
    const float xy = spec.xy_scales[grid.level];
    const Step step = step_of(spec, grid, model);
    plan.levels.push_back(
        {.first_anchor = grid.first,
         .width = std::max(grid.cells.width, 1u),
         .cell_anchors = grid.cell_anchors,
         .first_size = spec.anchors.sizes.empty() ? 0 : first_size(spec, grid.level) + grid.anchor,
         .stride = static_cast<float>(spec.strides[grid.level]),
         .xy_scale = xy > 0 ? xy : 1,
         .step_x = step.x,
         .step_y = step.y});
  }
  plan.rules.boxes.level_count = static_cast<uint32_t>(plan.levels.size());
  if (spec.anchors.sizes.empty()) return {};
  if (spec.anchors.sizes.size() < first_size(spec, static_cast<uint32_t>(spec.level_count())))
    return fail_sizes(spec);
  plan.anchor_sizes.assign(spec.anchors.sizes.begin(), spec.anchors.sizes.end());
  return {};
}

Status set_priors(Plan& plan, const Settings& settings) {
  if (settings.priors.size() != plan.layout.anchors)
    return fail(ErrorKind::kMismatch, std::to_string(plan.layout.anchors) + " prior boxes",
                std::to_string(settings.priors.size()),
                "set priors-file= in a detector file to the model's table of cy cx h w");
  plan.priors = settings.priors;
  return {};
}

}  // namespace

Status settle_anchors(Plan& plan, const Settings& settings, Size model, bool known) {
  const DetectorSpec& spec = *plan.spec;
  const bool deltas = traits_of(spec.coding).priors;
  const bool table = deltas && (!settings.priors.empty() || !spec.anchors.given());
  const bool cells = has_cells(spec.coding) || spec.peaks;
  if (table) KB_TRY(set_priors(plan, settings));
  if (!cells && (table || !deltas)) return {};
  KB_ASSIGN(const auto grids, settle_grids(plan.layout, model, known));
  if (deltas && !table) KB_TRY(make_priors(plan, grids, model));
  return cells ? make_levels(plan, grids, model) : Status();
}

namespace {

/// Returns the values per keypoint: as the family declares, otherwise three if each third value may
/// be a score.
uint8_t values_per_point(const Layout& layout, std::span<const TensorView> tensors) {
  if (layout.spec->points.values != 0) return layout.spec->points.values;
  if (layout.payload_count % 3 != 0) return 2;
  if (layout.payload_count % 2 != 0) return 3;
  const auto seen = ranges(layout, FieldId::kPayload, layout.payload_count, tensors);
  for (size_t i = 2; i < seen.size(); i += 3)
    if (seen[i].min < 0 || seen[i].max > 1) return 2;
  return 3;
}

/// Set assumed if the family declares none and the number of keypoints fits; four may be the
/// corners of a plate.
constexpr std::string_view kUsualSet = "body-pose/coco-17";

PointSet point_set_of(const PointRule& rule, uint16_t count) {
  const PointSet* set = find_point_set(rule.set.empty() ? kUsualSet : rule.set);
  return set != nullptr && set->count == count ? *set : PointSet{.count = count};
}

void settle_keypoints(Plan& plan, std::span<const TensorView> tensors) {
  const PointRule& rule = plan.spec->points;
  const uint8_t values = values_per_point(plan.layout, tensors);
  const auto count = static_cast<uint16_t>(plan.layout.payload_count / values);
  plan.payload = {.kind = kKeypointPayload,
                  .count = kPointValues * count,
                  .mean = traits_of(plan.rules.method).merges_payload,
                  .keypoints = {.coding = rule.coding,
                                .values = values,
                                .yx = rule.yx,
                                .clipped = plan.rules.contract.clip_keypoints,
                                .count = count},
                  .point_set = point_set_of(rule, count)};
}

/// Finds the prototypes: as many maps as a box has coefficients, as planes or interleaved.
Field find_prototypes(const Layout& layout, std::span<const TensorView> tensors, Size& maps) {
  const size_t wanted = layout.payload_count;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto d = tensors[i].shape.dims();
    if (d.size() != 4 || d[0] != layout.images || !is_real(tensors[i])) continue;
    const bool planes = d[1] == wanted;
    if ((!planes && d[3] != wanted) || static_cast<int>(i) == layout[FieldId::kBox].tensor)
      continue;
    const size_t height = planes ? d[2] : d[1], width = planes ? d[3] : d[2];
    const size_t pixels = height * width;
    if (pixels == 0 || pixels > kMaxMaskPixels) continue;
    maps = {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
    return {.tensor = static_cast<int>(i),
            .anchor_stride = planes ? 1 : wanted,
            .channel_stride = planes ? pixels : 1,
            .image_stride = wanted * pixels};
  }
  return {};
}

void settle_masks(Plan& plan, const Settings& settings, std::span<const TensorView> tensors) {
  MaskRules rules{.coefficients = plan.layout.payload_count,
                  .enlarged = settings.mask_size == MaskSize::kFrame};
  const Field field = find_prototypes(plan.layout, tensors, rules.maps);
  if (!field.present()) {
    plan.remark += "; no masks because there are no prototypes";
    return;
  }
  plan.layout[FieldId::kPrototypes] = field;
  plan.payload = {.kind = kMaskPayload, .count = rules.coefficients, .masks = rules};
}

void settle_embedding(Plan& plan) {
  plan.payload = {.kind = kEmbeddingPayload,
                  .count = plan.layout.payload_count,
                  .mean = traits_of(plan.rules.method).merges_payload};
}

}  // namespace

void settle_payload(Plan& plan, const Settings& settings, std::span<const TensorView> tensors) {
  const Payload payload = plan.spec->payload;
  const bool there = plan.layout[FieldId::kPayload].present() && plan.layout.payload_count != 0;
  if (payload == Payload::kKeypoints && there && settings.keypoints)
    settle_keypoints(plan, tensors);
  if (payload == Payload::kMaskCoefficients && there && settings.mask_size != MaskSize::kNone)
    settle_masks(plan, settings, tensors);
  if (payload == Payload::kEmbedding && there) settle_embedding(plan);
  if (plan.payload.any()) return;
  for (Segment& segment : plan.layout.segments) segment[FieldId::kPayload] = {};
}

}  // namespace keepbox
