// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits families with separate boxes and scores to tables and feature maps, level by level.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "core/recognition/fit.h"
#include "core/recognition/fit_maps.h"
#include "core/recognition/layout.h"

namespace keepbox {
namespace {

/// View of a tensor as anchors x channels.
struct MapView {
  int tensor = -1;
  size_t images = 1, anchors = 0, channels = 0;
  Size cells;        // of a feature map
  size_t apart = 1;  // maps per cell: anchors of a cell with a map each
  size_t anchor_stride = 0, channel_stride = 0, apart_stride = 0, image_stride = 0;
};

using MapViews = std::vector<MapView>;

bool accepts(const DetectorSpec& spec, const TensorRule& rule, const Request& request,
             size_t channels) {
  if (rule.role == Role::kAll) return channels >= min_channels(spec) && channels < kMaxClasses * 2;
  const size_t exact = channels_of(spec, rule, request);
  return exact == 0 ? channels >= 1 && channels <= kMaxClasses : channels == exact;
}

/// Views planes BxCxHxW, with the channels of a cell's anchors one after the other.
MapView planes(std::span<const size_t> d, size_t slots) {
  const size_t cells = d[2] * d[3], channels = d[1] / slots;
  return {.images = d[0],
          .anchors = cells * slots,
          .channels = channels,
          .cells = {narrow(d[3]), narrow(d[2])},
          .apart = slots,
          .anchor_stride = 1,
          .channel_stride = cells,
          .apart_stride = channels * cells,
          .image_stride = cells * d[1]};
}

/// Views BxHxWxC, with the channels of a cell's anchors one after the other.
MapView pixels(std::span<const size_t> d, size_t slots) {
  const size_t cells = d[1] * d[2], channels = d[3] / slots;
  return {.images = d[0],
          .anchors = cells * slots,
          .channels = channels,
          .cells = {narrow(d[2]), narrow(d[1])},
          .anchor_stride = channels,
          .channel_stride = 1,
          .image_stride = cells * d[3]};
}

/// Views BxAxHxWxC.
MapView stacked(std::span<const size_t> d) {
  const size_t cells = d[2] * d[3];
  return {.images = d[0],
          .anchors = cells * d[1],
          .channels = d[4],
          .cells = {narrow(d[3]), narrow(d[2])},
          .apart = d[1],
          .anchor_stride = d[4],
          .channel_stride = 1,
          .apart_stride = cells * d[4],
          .image_stride = cells * d[1] * d[4]};
}

MapView table(size_t images, size_t anchors, size_t channels, bool rows) {
  return {.images = images,
          .anchors = anchors,
          .channels = channels,
          .anchor_stride = rows ? channels : 1,
          .channel_stride = rows ? 1 : anchors,
          .image_stride = anchors * channels};
}

/// Position of a map's channels: before its rows, or after its columns.
enum class Order { kPlanes, kPixels };

/// Returns all views of a tensor, the most likely first. @param slots anchors per cell.
MapViews views_of(const TensorView& tensor, int index, size_t slots, Order order) {
  MapViews out;
  const auto d = tensor.shape.dims();
  if (d.size() == 5 && d[1] == slots) out.push_back(stacked(d));
  const auto add_maps = [&] {
    if (order == Order::kPlanes && d[1] % slots == 0) out.push_back(planes(d, slots));
    if (order == Order::kPixels && d[3] % slots == 0) out.push_back(pixels(d, slots));
  };
  const bool broad = d.size() == 4 && d[2] > 1 && d[3] > 1;
  if (broad) add_maps();
  // The map of one image is not a table with as many images as it has rows.
  const auto flat = broad && d[1] > 1 ? std::nullopt : batched(tensor.shape, 2);
  if (flat) {
    out.push_back(table(flat->images, flat->dims[0], flat->dims[1], true));
    out.push_back(table(flat->images, flat->dims[1], flat->dims[0], false));
  }
  if (const auto line = batched(tensor.shape, 1); line && tensor.shape.rank() < 3)
    out.push_back(table(line->images, line->dims[0], 1, true));
  if (d.size() == 4 && !broad) add_maps();
  for (MapView& view : out) view.tensor = index;
  return out;
}

/// Views of a level, one per rule; those of optional rules may have no tensor.
using Level = std::array<MapView, std::tuple_size_v<decltype(DetectorSpec::tensors)>>;

class Fitting {
 public:
  Fitting(const DetectorSpec& spec, std::span<const TensorView> tensors, const Request& request,
          Order order)
      : spec_(spec), tensors_(tensors), request_(request), order_(order) {}

  /// Fits the tensors to that many levels, the one with the most anchors first, or returns nothing.
  std::optional<std::vector<Level>> in_levels(size_t levels) {
    used_.assign(tensors_.size(), false);
    std::vector<Level> out;
    for (const size_t anchors : counts(levels)) {
      auto level = at(anchors, levels, out.size());
      if (level) out.push_back(*level);
    }
    return out.size() == levels ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  MapViews views(size_t tensor, size_t slots) const {
    return views_of(tensors_[tensor], static_cast<int>(tensor), slots, order_);
  }

  size_t slots(size_t levels, size_t level) const {
    return levels == 1 && spec_.level_count() != 1 ? 1 : spec_.anchors_of(level);
  }

  const TensorRule& base() const {
    const auto is_base = [](const TensorRule& rule) {
      return rule.role == Role::kAll || rule.role == Role::kBoxes;
    };
    return *std::ranges::find_if(spec_.rules(), is_base);
  }

  /// True if the tensor may belong to the rule; ids and names decide if they are known.
  bool allowed(size_t index, size_t rule, size_t levels, size_t level) const {
    if (!request_.tensor_ids.empty()) return index / levels == rule;
    const auto stride = levels == 1 && spec_.level_count() != 1 ? 0 : spec_.strides[level];
    const auto named = [&](const TensorRule& each, const TensorView& view) {
      return each.has(view.id, stride) || each.has_plain(view.id);
    };
    const TensorView& tensor = tensors_[index];
    if (tensor.id.empty()) return true;
    const auto names = [&](const TensorRule& each) { return named(each, tensor); };
    if (names(spec_.tensors[rule])) return true;
    const auto is_mine = [&](const TensorView& view) { return named(spec_.tensors[rule], view); };
    return std::ranges::none_of(tensors_, is_mine) && std::ranges::none_of(spec_.rules(), names);
  }

  /// Returns the possible numbers of anchors of the base tensors, in descending order.
  std::vector<size_t> counts(size_t levels) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < tensors_.size(); ++i)
      for (size_t level = 0; level < levels; ++level)
        for (const MapView& view : views(i, slots(levels, level)))
          if (accepts(spec_, base(), request_, view.channels) && is_real(tensors_[i]))
            out.push_back(view.anchors);
    std::ranges::sort(out, std::greater());
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
  }

  /// Returns the first unused tensor for a rule with that many anchors.
  MapView find(size_t rule, size_t anchors, size_t levels, size_t level) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (used_[i] || !is_real(tensors_[i]) || !allowed(i, rule, levels, level)) continue;
      for (const MapView& view : views(i, slots(levels, level)))
        if (view.anchors == anchors && accepts(spec_, spec_.tensors[rule], request_, view.channels))
          return view;
    }
    return {};
  }

  /// Returns the tensors of all rules with that many anchors: rules with a fixed number of channels
  /// first, because others take any.
  std::optional<Level> at(size_t anchors, size_t levels, size_t level) {
    const std::vector<bool> before = used_;
    Level out;
    if (level >= levels) return std::nullopt;
    for (const bool exact : {true, false}) {
      for (size_t rule = 0; rule < spec_.tensor_count; ++rule) {
        const TensorRule& each = spec_.tensors[rule];
        if ((each.role == Role::kAll || channels_of(spec_, each, request_) != 0) != exact) continue;
        out[rule] = find(rule, anchors, levels, level);
        if (out[rule].tensor >= 0) used_[static_cast<size_t>(out[rule].tensor)] = true;
        if (out[rule].tensor >= 0 || each.optional) continue;
        used_ = before;
        return std::nullopt;
      }
    }
    return out;
  }

  const DetectorSpec& spec_;
  std::span<const TensorView> tensors_;
  const Request& request_;
  Order order_;
  std::vector<bool> used_;
};

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
size_t payload_apart(const DetectorSpec& spec, const Level& level) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kKeypoints)
      return level[rule].tensor < 0 ? 0 : level[rule].channels;
  return behind_boxes(spec) ? spec.payload_count : 0;
}

/// Adds the segments and grids of a level.
void add_level(Layout& layout, Level level, size_t number, size_t classes, size_t payload,
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
bool agree(const std::vector<Level>& levels) {
  const MapView* first = nullptr;
  for (const Level& level : levels) {
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

std::optional<Counts> counts_of(const DetectorSpec& spec, const Level& level,
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
bool has_alike(const DetectorSpec& spec, const Level& a, const Level& b) {
  for (size_t rule = 0; rule < spec.tensor_count; ++rule)
    if (spec.tensors[rule].role == Role::kObjectness &&
        (a[rule].tensor < 0) != (b[rule].tensor < 0))
      return false;
  return true;
}

/// Fits that many levels of maps in that order.
std::optional<Layout> fit_levels(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request, size_t count, Order order) {
  const auto levels = Fitting(spec, tensors, request, order).in_levels(count);
  if (!levels || !agree(*levels)) return std::nullopt;
  Layout layout{.spec = &spec};
  layout.segments.clear();
  const bool leveled = spec.level_count() == count;
  for (size_t number = 0; number < levels->size(); ++number) {
    const Level& level = (*levels)[number];
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
