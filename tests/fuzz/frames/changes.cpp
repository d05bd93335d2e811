// SPDX-License-Identifier: LGPL-2.1-or-later
// Changes families like files could.
#include <algorithm>

#include "core/model/detector_text.h"
#include "core/model/words.h"
#include "tests/fuzz/frames/settings.h"

namespace keepbox::fuzz {
namespace {

constexpr AnchorSize kSizes[] = {{10, 13}, {16, 30}, {33, 23}, {30, 61}, {62, 45}, {59, 119}};
constexpr float kScales[] = {1, 1.26f, 1.59f};
constexpr AnchorSize kRatios[] = {{1, 1}, {1.4f, 0.7f}, {0.7f, 1.4f}};
constexpr uint16_t kStrides[] = {4, 8, 16, 32, 64, 128};

int8_t column(Input& input) { return static_cast<int8_t>(static_cast<int>(input.below(14)) - 1); }

/// Puts the payload before the class scores, which then begin after it.
void put_payload_first(Input& input, DetectorSpec& spec) {
  if (spec.payload == Payload::kNone || spec.payload == Payload::kAngle)
    spec.payload = input.chance(50) ? Payload::kKeypoints : Payload::kMaskCoefficients;
  spec.payload_count = static_cast<uint16_t>(input.between(1, 12));
  if (spec.columns.classes < 0 || spec.columns.classes > 90) return;
  spec.columns.payload = spec.columns.classes;
  spec.columns.classes = static_cast<int8_t>(spec.columns.classes + spec.payload_count);
}

void change_levels(Input& input, DetectorSpec& spec) {
  spec.strides = {};
  spec.cell_anchors = {};
  const uint32_t first = input.below(3), levels = input.between(1, 4);
  for (uint32_t level = 0; level < levels && first + level < 6; ++level) {
    spec.strides[level] = kStrides[first + level];
    spec.cell_anchors[level] = static_cast<uint8_t>(input.between(level == 0 ? 1 : 0, 3));
  }
}

void change_anchors(Input& input, DetectorSpec& spec) {
  AnchorRule& rule = spec.anchors;
  rule = {};
  if (input.chance(50)) {
    size_t all = 0;
    for (size_t level = 0; level < spec.level_count(); ++level) all += spec.anchors_of(level);
    rule.sizes = std::span(kSizes).first(std::min(all, std::size(kSizes)));
    rule.input = input.chance(50) ? 0 : 64;
  } else {
    rule.base = 4;
    rule.scales = std::span(kScales).first(input.between(1, 3));
    rule.ratios = std::span(kRatios).first(input.between(1, 3));
    rule.scales_inner = input.chance(50);
    spec.cell_anchors = {static_cast<uint8_t>(rule.scales.size() * rule.ratios.size())};
  }
  rule.integer_sides = input.chance(30);
  rule.of_grid = input.chance(30);
}

void change_columns(Input& input, DetectorSpec& spec) {
  Columns& c = spec.columns;
  int8_t* const all[] = {&c.box,      &c.objectness, &c.classes, &c.score,
                         &c.class_id, &c.image,      &c.payload, &c.angle};
  for (uint32_t left = input.between(1, 3); left > 0; --left) *all[input.below(8)] = column(input);
  if (input.chance(20)) c.box_last = !c.box_last;
}

void change_tensors(Input& input, DetectorSpec& spec) {
  TensorRule& rule = spec.tensors[input.below(spec.tensor_count)];
  switch (input.below(4)) {
    case 0: rule.channels = static_cast<uint16_t>(input.below(20)); break;
    case 1: rule.optional = !rule.optional; break;
    case 2:
      if (spec.tensor_count < spec.tensors.size())
        spec.tensors[spec.tensor_count++] = {
            .role = any(input, kRoleWords), .optional = input.chance(50), .ids = {"more"}};
      break;
    default: rule.role = any(input, kRoleWords);
  }
}

void change_scores(Input& input, DetectorSpec& spec) {
  switch (input.below(6)) {
    case 0: spec.score = any(input, kScoreWords); break;
    case 1: spec.activation = any(input, kActivationWords); break;
    case 2: spec.background = any(input, kBackgroundWords); break;
    case 3: spec.multi_label = !spec.multi_label; break;
    case 4: spec.peaks = !spec.peaks; break;
    default: spec.logit_limit = input.chance(50) ? 0 : 5;
  }
}

void change_boxes(Input& input, DetectorSpec& spec) {
  switch (input.below(7)) {
    case 0:
      spec.coding = any(input, kCodingWords);
      spec.bins = traits_of(spec.coding).bins ? 4 : 1;
      break;
    case 1: spec.box_yx = !spec.box_yx; break;
    case 2: spec.units = any(input, kUnitsWords); break;
    case 3: spec.box_scale[input.below(4)] = input.number(); break;
    case 4: spec.cell_offset = input.number(); break;
    case 5: spec.bins = static_cast<uint8_t>(input.between(1, 20)); break;
    default: spec.delta_limit = input.number();
  }
}

void change_payload(Input& input, DetectorSpec& spec) {
  switch (input.below(4)) {
    case 0: spec.payload = any(input, kPayloadWords); break;
    case 1: spec.payload_count = static_cast<uint16_t>(input.below(60)); break;
    case 2: spec.points.coding = any(input, kPointCodingWords); break;
    default: spec.points.values = static_cast<uint8_t>(input.below(5)); break;
  }
}

void change(Input& input, DetectorSpec& spec) {
  switch (input.below(10)) {
    case 0: return put_payload_first(input, spec);
    case 1: return change_levels(input, spec);
    case 2: return change_anchors(input, spec);
    case 3: return change_columns(input, spec);
    case 4: return change_tensors(input, spec);
    case 5: return change_scores(input, spec);
    case 6: return change_boxes(input, spec);
    case 7: return change_payload(input, spec);
    case 8: spec.interleaved = !spec.interleaved; break;
    default: spec.nms = input.pick(std::span(kNmsMethods).subspan(1)).method;  // not kAuto
  }
}

}  // namespace

std::shared_ptr<const DetectorSpec> changed_family(Input& input, const DetectorSpec& from) {
  std::shared_ptr<const DetectorSpec> family = std::make_shared<DetectorSpec>(from);
  for (uint32_t left = input.between(1, 6); left > 0; --left) {
    DetectorSpec next = *family;
    // Some changes are only valid together.
    for (uint32_t more = input.between(1, 2); more > 0; --more) change(input, next);
    if (auto file = read_detector(print_detector(next), "")) family = std::move(file->family);
  }
  return family;
}

}  // namespace keepbox::fuzz
