// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits families with separate boxes and scores to tables and feature maps, level by level.
#include "core/recognition/fit_maps.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/recognition/channels.h"
#include "core/recognition/map_levels.h"

namespace keepbox {
namespace {

/// Returns the part of a rule's values, if they are used.
std::optional<FieldId> part_of(Role role) {
  switch (role) {
    case Role::kBoxes: return FieldId::kBox;
    case Role::kScores: return FieldId::kScores;
    case Role::kObjectness: return FieldId::kObjectness;
    case Role::kSizes: return FieldId::kSizes;
    case Role::kKeypoints: return FieldId::kPayload;
    default: return std::nullopt;
  }
}

/// Returns the field of a view from a channel on, for one of its maps.
Field field_of(const MapView& view, size_t map, size_t channel = 0) {
  return {.tensor = view.tensor,
          .offset = map * view.apart_stride + channel * view.channel_stride,
          .anchor_stride = view.anchor_stride,
          .channel_stride = view.channel_stride,
          .image_stride = view.image_stride};
}

/// Returns the fields of a tensor that holds all of them.
void set_columns(Segment& segment, const DetectorSpec& spec, const MapView& view, size_t map,
                 size_t classes, size_t payload) {
  const auto at = [&](size_t channel) { return field_of(view, map, channel); };
  const auto scores = static_cast<size_t>(spec.columns.classes);
  segment[FieldId::kScores] = at(scores);
  segment[FieldId::kBox] =
      at(spec.columns.box_last ? scores + classes : static_cast<size_t>(spec.columns.box));
  if (spec.columns.objectness >= 0)
    segment[FieldId::kObjectness] = at(static_cast<size_t>(spec.columns.objectness));
  const int8_t own = spec.columns.payload;
  if (payload != 0)
    segment[FieldId::kPayload] = at(own >= 0 ? static_cast<size_t>(own) : scores + classes);
  if (spec.payload == Payload::kAngle) segment[FieldId::kAngle] = segment[FieldId::kPayload];
}

/// Splits a level in which each anchor runs through all cells before the next one.
MapView by_anchor(MapView view, size_t anchors) {
  if (view.cells.width != 0 || view.apart > 1 || view.tensor < 0) return view;
  view.apart = anchors;
  view.apart_stride = view.anchors / anchors * view.anchor_stride;
  return view;
}

/// Returns the number of box values in their tensor, which a payload may follow.
size_t box_numbers(const DetectorSpec& spec) {
  return channels_of(spec, TensorRule{.role = Role::kBoxes});
}

/// True if a payload follows the boxes in their tensor.
bool behind_boxes(const DetectorSpec& spec) {
  const auto apart = [](const TensorRule& rule) { return rule.role == Role::kKeypoints; };
  return spec.payload != Payload::kNone && std::ranges::none_of(spec.rules(), apart);
}

/// Returns the number of payload values outside of the tensor of the scores.
size_t payload_apart(const DetectorSpec& spec, const MapLevel& level) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kKeypoints)
      return level[rule].tensor < 0 ? 0 : level[rule].channels;
  return behind_boxes(spec) ? spec.payload_count : 0;
}

/// Adds the segments and grids of a level.
void add_level(Layout& layout, MapLevel level, size_t number, size_t classes, size_t payload,
               bool leveled) {
  const DetectorSpec& spec = *layout.spec;
  const auto is_base = [](const TensorRule& rule) {
    return rule.role == Role::kAll || rule.role == Role::kBoxes;
  };
  const auto base =
      static_cast<size_t>(std::ranges::find_if(spec.rules(), is_base) - spec.rules().begin());
  if (leveled && !spec.interleaved)
    for (MapView& each : level) each = by_anchor(each, spec.anchors_of(number));
  const MapView& view = level[base];
  const uint32_t count = narrow(view.anchors / view.apart);
  for (size_t map = 0; map < view.apart; ++map) {
    Segment segment{.first = layout.anchors, .count = count};
    for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
      if (level[rule].tensor < 0) continue;
      if (spec.tensors[rule].role == Role::kAll)
        set_columns(segment, spec, level[rule], map, classes, payload);
      else if (const auto part = part_of(spec.tensors[rule].role))
        segment[*part] = field_of(level[rule], map);
      if (spec.tensors[rule].role == Role::kBoxes && payload != 0 && behind_boxes(spec))
        segment[FieldId::kPayload] = field_of(level[rule], map, box_numbers(spec));
    }
    layout.segments.push_back(segment);
    if (leveled)
      layout.grids.push_back({.first = layout.anchors,
                              .level = narrow(number),
                              .anchor = narrow(map),
                              .cell_anchors = view.apart > 1 ? 1 : spec.anchors_of(number),
                              .count = count,
                              .cells = view.cells});
    layout.anchors = narrow(size_t{layout.anchors} + count);
  }
}

/// True if all tensors have the same number of images, at least one, and maps if others do.
bool agree(const std::vector<MapLevel>& levels) {
  const MapView* first = nullptr;
  for (const MapLevel& level : levels) {
    size_t apart = 0;
    for (const MapView& view : level) {
      if (view.tensor < 0) continue;
      if (first == nullptr) first = &view;
      if (apart == 0) apart = view.apart;
      if (view.images != first->images || view.apart != apart) return false;
    }
  }
  return first != nullptr && first->images != 0;
}

/// Returns the numbers of class scores and of payload values of an anchor.
struct Counts {
  size_t classes = 0, payload = 0;
};

std::optional<Counts> counts_of(const DetectorSpec& spec, const MapLevel& level,
                                std::span<const TensorView> tensors, const Request& request) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
    const Role role = spec.tensors[rule].role;
    if (role == Role::kScores) return Counts{level[rule].channels, payload_apart(spec, level)};
    if (role != Role::kAll) continue;
    const size_t numbers = level[rule].channels - beside_classes(spec);
    const auto payload = payload_of(spec, numbers, tensors, request);
    if (!payload || *payload >= numbers) return std::nullopt;
    const bool apart = spec.columns.payload >= 0;
    return Counts{numbers - *payload, apart ? spec.payload_count : *payload};
  }
  return std::nullopt;
}

/// True if both levels or neither have an objectness.
bool has_alike(const DetectorSpec& spec, const MapLevel& a, const MapLevel& b) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kObjectness &&
        (a[rule].tensor < 0) != (b[rule].tensor < 0))
      return false;
  return true;
}

/// Fits that many levels of maps in that order.
std::optional<Layout> fit_levels(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request, size_t count, Order order) {
  const auto levels = find_levels(spec, tensors, request, count, order);
  if (!levels || !agree(*levels)) return std::nullopt;
  Layout layout{.spec = &spec};
  layout.segments.clear();
  const bool leveled = spec.level_count() == count;
  for (size_t number = 0; number < levels->size(); ++number) {
    const MapLevel& level = (*levels)[number];
    const auto counts = counts_of(spec, level, tensors, request);
    if (!counts || (number != 0 && counts->classes != layout.classes) ||
        !has_alike(spec, level, levels->front()))
      return std::nullopt;
    layout.classes = narrow(counts->classes);
    // Fields that not all levels share are ignored.
    const bool alike = number == 0 || counts->payload == layout.payload_count;
    layout.payload_count = alike ? narrow(counts->payload) : 0;
    for (const MapView& view : level)
      if (view.tensor >= 0) layout.images = narrow(view.images);
    add_level(layout, level, number, counts->classes, counts->payload, leveled);
  }
  return layout;
}

}  // namespace

std::optional<Layout> fit_maps(const DetectorSpec& spec, std::span<const TensorView> tensors,
                               const Request& request) {
  const size_t most = spec.level_count();
  const bool alone = spec.reader == Reader::kSplit || most == 1;
  for (const size_t count : {most, size_t{1}})
    for (const Order order : {Order::kPlanes, Order::kPixels})
      if (count > 1 || (count == 1 && alone))
        if (auto layout = fit_levels(spec, tensors, request, count, order)) return layout;
  return std::nullopt;
}

}  // namespace keepbox
