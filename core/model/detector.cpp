// SPDX-License-Identifier: LGPL-2.1-or-later
// Lookups in a model family's row.
#include "core/model/detector.h"

#include <algorithm>

namespace keepbox {
namespace {

/// True if the id matches, with * standing for the stride of a level.
bool matches(std::string_view id, std::string_view found, uint32_t stride) {
  const size_t star = id.find('*');
  if (star == id.npos) return id == found;
  return stride != 0 && found == std::string(id.substr(0, star)) + std::to_string(stride) +
                                     std::string(id.substr(star + 1));
}

}  // namespace

bool TensorRule::has(std::string_view id, uint32_t stride) const {
  return std::ranges::any_of(
      ids, [&](std::string_view own) { return !own.empty() && matches(own, id, stride); });
}

bool TensorRule::has_plain(std::string_view name) const {
  if (name.empty()) return false;
  if (std::ranges::find(plain, name) != plain.end()) return true;
  constexpr std::string_view kFirst = ":0";  // TensorFlow's suffix of a first output
  return name.ends_with(kFirst) && has_plain(name.substr(0, name.size() - kFirst.size()));
}

size_t DetectorSpec::level_count() const {
  return static_cast<size_t>(std::ranges::find(strides, 0) - strides.begin());
}

uint32_t DetectorSpec::anchors_of(size_t level) const {
  while (level > 0 && cell_anchors[level] == 0) --level;
  return std::max<uint32_t>(cell_anchors[level], 1);
}

const TensorRule* quantization_of(const DetectorSpec& spec, std::string_view id,
                                  std::span<const std::string> tensor_ids) {
  const auto scaled = [](const TensorRule& rule) { return rule.has_scale() ? &rule : nullptr; };
  if (!tensor_ids.empty()) {
    const auto place = static_cast<size_t>(std::ranges::find(tensor_ids, id) - tensor_ids.begin());
    const size_t each = std::max<size_t>(tensor_ids.size() / spec.tensor_count, 1);  // levels
    const bool listed = place < tensor_ids.size() && place < each * spec.tensor_count;
    return listed ? scaled(spec.tensors[place / each]) : nullptr;
  }
  for (const TensorRule& rule : spec.rules()) {
    const auto on_level = [&](uint32_t stride) { return rule.has(id, stride); };
    if (rule.has(id) || rule.has_plain(id) || std::ranges::any_of(spec.strides, on_level))
      return scaled(rule);
  }
  const auto nameless = [](const TensorRule& rule) {
    return rule.has_scale() && rule.ids[0].empty() && rule.plain[0].empty();
  };
  const auto found = std::ranges::find_if(spec.rules(), nameless);
  return found != spec.rules().end() ? &*found : nullptr;
}

const DetectorSpec* find_detector(std::string_view name) {
  const auto found = std::ranges::find(detectors(), name, &DetectorSpec::name);
  return found == detectors().end() ? nullptr : &*found;
}

const DetectorSpec* find_detector_by_ids(std::span<const std::string> ids) {
  for (const DetectorSpec& spec : detectors())
    for (const TensorRule& rule : spec.rules())
      if (std::ranges::any_of(ids, [&](const std::string& id) { return rule.has(id); }))
        return &spec;
  return nullptr;
}

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
    case Role::kAll:
    case Role::kScores:
    case Role::kClasses:
    case Role::kCount:
    case Role::kIndices:
    case Role::kKeypoints:
    case Role::kUnread: break;
  }
  return 0;
}

bool may_be_payload(size_t values, Payload payload) {
  if (payload == Payload::kKeypoints) return values > 0 && (values % 3 == 0 || values % 2 == 0);
  return payload == Payload::kNone || values > 0;
}

}  // namespace keepbox
