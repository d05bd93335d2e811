// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits families with separate boxes and scores to tables and feature maps, level by level.
#include "core/recognition/fit_maps.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/recognition/channels.h"
#include "core/recognition/grid.h"
#include "core/recognition/map_levels.h"

namespace keepbox {
namespace {

/// Returns the field of a role, or nothing if it is not read.
std::optional<FieldId> field_id_of(Role role) {
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
          .offset = map * view.map_stride + channel * view.channel_stride,
          .anchor_stride = view.anchor_stride,
          .channel_stride = view.channel_stride,
          .image_stride = view.image_stride};
}

/// Sets the fields of a tensor that holds all of them.
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

/// Splits a level that lists all cells of a first anchor, then all cells of the next one.
MapView by_anchor(MapView view, size_t anchors) {
  if (view.cells.width != 0 || view.maps_per_cell > 1 || view.tensor < 0) return view;
  view.maps_per_cell = anchors;
  view.map_stride = view.anchors / anchors * view.anchor_stride;
  return view;
}

/// Returns the number of box values in their tensor, which a payload may follow.
size_t box_values(const DetectorSpec& spec) {
  return channels_of(spec, TensorRule{.role = Role::kBoxes});
}

/// True if a payload follows the boxes in their tensor.
bool payload_follows_boxes(const DetectorSpec& spec) {
  const auto separate = [](const TensorRule& rule) { return rule.role == Role::kKeypoints; };
  return spec.payload != Payload::kNone && std::ranges::none_of(spec.rules(), separate);
}

/// Returns the number of payload values outside of the tensor of the scores.
size_t separate_payload(const DetectorSpec& spec, const MapLevel& level) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kKeypoints)
      return level[rule].tensor < 0 ? 0 : level[rule].channels;
  return payload_follows_boxes(spec) ? spec.payload_count : 0;
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
  const uint32_t count = narrow(view.anchors / view.maps_per_cell);
  for (size_t map = 0; map < view.maps_per_cell; ++map) {
    Segment segment{.first = layout.anchors, .count = count};
    for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
      if (level[rule].tensor < 0) continue;
      if (spec.tensors[rule].role == Role::kAll)
        set_columns(segment, spec, level[rule], map, classes, payload);
      else if (const auto id = field_id_of(spec.tensors[rule].role))
        segment[*id] = field_of(level[rule], map);
      else if (map == 0) layout.ignored.push_back(level[rule].tensor);
      if (spec.tensors[rule].role == Role::kBoxes && payload != 0 && payload_follows_boxes(spec))
        segment[FieldId::kPayload] = field_of(level[rule], map, box_values(spec));
    }
    layout.segments.push_back(segment);
    if (leveled)
      layout.grids.push_back({.first = layout.anchors,
                              .level = narrow(number),
                              .anchor = narrow(map),
                              .cell_anchors = view.maps_per_cell > 1 ? 1 : spec.anchors_of(number),
                              .count = count,
                              .cells = view.cells});
    layout.anchors = narrow(size_t{layout.anchors} + count);
  }
}

/// True if all tensors have the same number of images, at least one, and maps if others do.
bool same_images(const std::vector<MapLevel>& levels) {
  const MapView* first = nullptr;
  for (const MapLevel& level : levels) {
    size_t separate = 0;
    for (const MapView& view : level) {
      if (view.tensor < 0) continue;
      if (first == nullptr) first = &view;
      if (separate == 0) separate = view.maps_per_cell;
      if (view.images != first->images || view.maps_per_cell != separate) return false;
    }
  }
  return first != nullptr && first->images != 0;
}

/// Numbers of class scores and of payload values per anchor.
struct Counts {
  size_t classes = 0, payload = 0;
};

std::optional<Counts> counts_of(const DetectorSpec& spec, const MapLevel& level,
                                std::span<const TensorView> tensors, const Request& request) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule) {
    const Role role = spec.tensors[rule].role;
    if (role == Role::kScores) return Counts{level[rule].channels, separate_payload(spec, level)};
    if (role != Role::kAll) continue;
    const size_t values = level[rule].channels - channels_besides_classes(spec);
    const auto payload = payload_of(spec, values, tensors, request);
    if (!payload || *payload >= values) return std::nullopt;
    const bool separate = spec.columns.payload >= 0;
    return Counts{values - *payload, separate ? spec.payload_count : *payload};
  }
  return std::nullopt;
}

/// True if both levels or neither have an objectness.
bool same_objectness(const DetectorSpec& spec, const MapLevel& a, const MapLevel& b) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kObjectness &&
        (a[rule].tensor < 0) != (b[rule].tensor < 0))
      return false;
  return true;
}

/// Fits `count` levels, with the channels of maps in that order.
std::optional<Layout> fit_levels(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request, size_t count, Order order) {
  const auto levels = find_levels(spec, tensors, request, count, order);
  if (!levels || !same_images(*levels)) return std::nullopt;
  Layout layout{.spec = &spec};
  layout.segments.clear();
  const bool leveled = count > 1 || spec.level_count() == 1;
  for (size_t number = 0; number < levels->size(); ++number) {
    const MapLevel& level = (*levels)[number];
    const auto counts = counts_of(spec, level, tensors, request);
    if (!counts || (number != 0 && counts->classes != layout.classes) ||
        !same_objectness(spec, level, levels->front()))
      return std::nullopt;
    layout.classes = narrow(counts->classes);
    // Fields that not all levels share are ignored.
    const bool alike = number == 0 || counts->payload == layout.payload_count;
    layout.payload_count = alike ? narrow(counts->payload) : 0;
    for (const MapView& view : level)
      if (view.tensor >= 0) layout.images = narrow(view.images);
    add_level(layout, level, number, counts->classes, counts->payload, leveled);
  }
  layout.levels = leveled ? narrow(count) : levels_of(layout.anchors, request.frame, spec);
  return layout;
}

}  // namespace

std::optional<Layout> fit_maps(const DetectorSpec& spec, std::span<const TensorView> tensors,
                               const Request& request) {
  const size_t level_count = spec.level_count();
  const auto fit_count = [&](size_t count) -> std::optional<Layout> {
    for (const Order order : {Order::kPlanes, Order::kPixels})
      if (auto layout = fit_levels(spec, tensors, request, count, order)) return layout;
    return std::nullopt;
  };
  for (size_t count = level_count; count > 1 && count >= spec.fewest_levels(); --count)
    if (auto layout = fit_count(count)) return layout;
  const bool alone = spec.reader == Reader::kSplit || level_count == 1;
  return alone ? fit_count(1) : std::nullopt;
}

}  // namespace keepbox
