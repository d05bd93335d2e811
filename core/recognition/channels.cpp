// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the values per anchor of boxes, class scores and payloads.
#include "core/recognition/channels.h"

#include <algorithm>

#include "core/recognition/recognise.h"

namespace keepbox {

size_t channels_besides_classes(const DetectorSpec& spec) {
  const size_t trailing_box = spec.columns.box_last ? size_t{4} * spec.bins : 0;
  return static_cast<size_t>(spec.columns.classes) + trailing_box;
}

size_t min_channels(const DetectorSpec& spec) {
  if (spec.reader == Reader::kReady)
    return (spec.columns.image >= 0 ? 7u : 6u) + spec.payload_count;
  const bool trailing = spec.payload != Payload::kNone && spec.columns.payload < 0;
  return channels_besides_classes(spec) + 1u + (trailing ? 1 : 0);
}

size_t channels_of(const DetectorSpec& spec, const TensorRule& rule) {
  if (rule.channels != 0) return rule.channels;
  const auto is_sizes = [](const TensorRule& each) { return each.role == Role::kSizes; };
  switch (rule.role) {
    case Role::kBoxes:
      return std::ranges::any_of(spec.rules(), is_sizes) ? 2 : size_t{4} * spec.bins;
    case Role::kSizes: return 2;
    case Role::kObjectness: return 1;
    default: return 0;
  }
}

size_t channels_of(const DetectorSpec& spec, const TensorRule& rule, const Request& request) {
  const size_t channels = channels_of(spec, rule);
  if (channels != 0 || rule.role != Role::kScores || request.class_count == 0) return channels;
  return request.class_count + spec.background_count();
}

bool may_be_payload(size_t values, Payload payload) {
  if (payload == Payload::kKeypoints) return values > 0 && (values % 3 == 0 || values % 2 == 0);
  return payload == Payload::kNone || values > 0;
}

std::optional<size_t> payload_of(const DetectorSpec& spec, size_t values,
                                 std::span<const TensorView> tensors, const Request& request) {
  const auto rest_after = [&](size_t classes) -> std::optional<size_t> {
    if (classes > values || !may_be_payload(values - classes, spec.payload)) return std::nullopt;
    return values - classes;
  };
  if (spec.columns.payload >= 0) return 0;
  if (request.class_count != 0) return rest_after(request.class_count);
  if (spec.payload == Payload::kNone) return 0;
  const size_t maps = spec.payload == Payload::kMaskCoefficients ? prototype_count(tensors) : 0;
  if (maps != 0) return maps < values ? std::optional(maps) : std::nullopt;
  if (request.label_count != 0 && spec.payload != Payload::kAngle)
    if (const auto rest = rest_after(request.label_count)) return rest;
  return spec.payload_count < values ? std::optional<size_t>(spec.payload_count) : std::nullopt;
}

}  // namespace keepbox
