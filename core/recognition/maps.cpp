// SPDX-License-Identifier: LGPL-2.1-or-later
// Feature maps: levels and strides, views as anchors x channels, and grids of an input.
#include "core/recognition/maps.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <vector>

#include "core/recognition/fit.h"

namespace keepbox {

/// View of a tensor as anchors x channels.
struct MapView {
  int tensor = -1;
  size_t images = 1, anchors = 0, channels = 0;
  Size cells;                // of a feature map
  size_t maps_per_cell = 1;  // maps per cell: anchors of a cell with a map each
  size_t anchor_stride = 0, channel_stride = 0, map_stride = 0, image_stride = 0;
};

/// Position of a map's channels: before its rows, or after its columns.
enum class Order { kPlanes, kPixels };

using MapViews = std::vector<MapView>;

/// Returns all views of a tensor, the most likely first. @param slots anchors per cell.
MapViews views_of(const TensorView& tensor, int index, size_t slots, Order order);

/// Views of a level, one per rule; those of optional rules may have no tensor.
using MapLevel = std::array<MapView, std::tuple_size_v<decltype(DetectorSpec::tensors)>>;

/// Fits the tensors to that many levels, the one with the most anchors first, or returns nothing.
std::optional<std::vector<MapLevel>> find_levels(const DetectorSpec& spec,
                                                 std::span<const TensorView> tensors,
                                                 const Request& request, size_t count, Order order);

namespace {

/// Returns the field of a role, or nothing if it is not read.
std::optional<FieldId> field_id_of(Role role) {
  switch (role) {
    case Role::kBoxes: return FieldId::kBox;
    case Role::kScores: return FieldId::kScores;
    case Role::kObjectness: return FieldId::kObjectness;
    case Role::kSizes: return FieldId::kSizes;
    case Role::kKeypoints: return FieldId::kPayload;
    case Role::kAll:
    case Role::kClasses:
    case Role::kCount:
    case Role::kIndices:
    case Role::kUnread: break;
  }
  return std::nullopt;
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

namespace {

bool accepts(const DetectorSpec& spec, const TensorRule& rule, const Request& request,
             size_t channels) {
  if (rule.role == Role::kAll) return channels >= min_channels(spec) && channels < kMaxClasses * 2;
  const size_t exact = channels_of(spec, rule, request);
  return exact == 0 ? channels >= 1 && channels <= kMaxClasses : channels == exact;
}

class LevelFitter {
 public:
  LevelFitter(const DetectorSpec& spec, std::span<const TensorView> tensors, const Request& request,
              Order order)
      : spec_(spec), tensors_(tensors), request_(request), order_(order) {}

  std::optional<std::vector<MapLevel>> fit(size_t levels) {
    used_.assign(tensors_.size(), false);
    std::vector<MapLevel> out;
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
  std::optional<MapLevel> at(size_t anchors, size_t levels, size_t level) {
    const std::vector<bool> before = used_;
    MapLevel out;
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

}  // namespace

std::optional<std::vector<MapLevel>> find_levels(const DetectorSpec& spec,
                                                 std::span<const TensorView> tensors,
                                                 const Request& request, size_t count,
                                                 Order order) {
  return LevelFitter(spec, tensors, request, order).fit(count);
}

namespace {

/// Views planes BxCxHxW, with the channels of a cell's anchors one after the other.
MapView planes(std::span<const size_t> d, size_t slots) {
  const size_t cells = d[2] * d[3], channels = d[1] / slots;
  return {.images = d[0],
          .anchors = cells * slots,
          .channels = channels,
          .cells = {narrow(d[3]), narrow(d[2])},
          .maps_per_cell = slots,
          .anchor_stride = 1,
          .channel_stride = cells,
          .map_stride = channels * cells,
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
          .maps_per_cell = d[1],
          .anchor_stride = d[4],
          .channel_stride = 1,
          .map_stride = cells * d[4],
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

}  // namespace

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
  // A map of one image is not read as a batch of tables, one per row of the map.
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

namespace {

constexpr uint32_t kStep = 32, kMaxSide = 8192;  // sides of squares

/// Returns the square input of the first `levels` levels, or 0 x 0.
Size square_input(uint32_t anchors, const DetectorSpec& spec, size_t levels) {
  for (const uint32_t side : {300u, 128u})  // of SSD; not multiples of the largest strides
    if (grid_anchors({side, side}, spec, levels) == anchors) return {side, side};
  for (uint32_t side = kStep; side <= kMaxSide; side += kStep)
    if (grid_anchors({side, side}, spec, levels) == anchors) return {side, side};
  return {};
}

/// Returns the pictures of cameras that models with anchor sizes are made for.
Size camera_input(uint32_t anchors, const DetectorSpec& spec, size_t levels) {
  if (!spec.anchors.given()) return {};
  for (const Size input : {Size{320, 240}, Size{640, 480}})
    if (grid_anchors(input, spec, levels) == anchors) return input;
  return {};
}

/// Calls visit with the possible numbers of levels, all first, until it returns true.
template <class Visit>
bool any_levels(const DetectorSpec& spec, Visit visit) {
  for (size_t levels = spec.level_count(); levels > 0 && levels >= spec.fewest_levels(); --levels)
    if (visit(levels)) return true;
  return false;
}

}  // namespace

Size level_cells(Size input, uint32_t stride) {
  return {(input.width + stride - 1) / stride, (input.height + stride - 1) / stride};
}

uint32_t grid_anchors(Size input, const DetectorSpec& spec, size_t levels) {
  uint64_t anchors = 0;
  for (size_t level = 0; level < levels; ++level) {
    const Size cells = level_cells(input, spec.strides[level]);
    anchors += uint64_t{cells.width} * cells.height * spec.anchors_of(level);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(anchors, UINT32_MAX));
}

uint32_t grid_anchors(Size input, const DetectorSpec& spec) {
  return grid_anchors(input, spec, spec.level_count());
}

bool is_grid(size_t anchors, Size input, const DetectorSpec& spec) {
  return any_levels(spec,
                    [&](size_t levels) { return grid_anchors(input, spec, levels) == anchors; });
}

uint32_t levels_of(size_t anchors, Size input, const DetectorSpec& spec) {
  size_t found = spec.level_count();
  const uint32_t wanted = narrow(anchors);
  const auto over = [&](auto has_anchors) {
    return any_levels(spec, [&](size_t levels) {
      if (!has_anchors(levels)) return false;
      found = levels;
      return true;
    });
  };
  if (!over([&](size_t levels) { return grid_anchors(input, spec, levels) == wanted; }))
    over([&](size_t levels) { return square_input(wanted, spec, levels).width != 0; });
  return narrow(found);
}

Size usual_input(uint32_t anchors, const DetectorSpec& spec) {
  Size out;
  if (anchors == 0) return out;
  any_levels(spec, [&](size_t levels) {
    out = square_input(anchors, spec, levels);
    if (out.width == 0) out = camera_input(anchors, spec, levels);
    return out.width != 0;
  });
  return out;
}

bool is_pyramid(size_t rows, Size input) {
  constexpr uint32_t kStrides[] = {4, 8, 16, 32, 64, 128};
  const auto has_rows = [&](Size size) {
    for (size_t first = 0; first < std::size(kStrides); ++first) {
      uint64_t cells = 0;
      for (size_t level = first; level < std::size(kStrides); ++level) {
        const Size of = level_cells(size, kStrides[level]);
        cells += uint64_t{of.width} * of.height;
        for (const uint32_t anchors : {1u, 2u, 3u})
          if (level > first && cells * anchors == rows) return true;
      }
    }
    return false;
  };
  if (rows < kMinGrid) return false;
  if (input.width != 0 && has_rows(input)) return true;
  for (uint32_t side = kStep; side <= kMaxSide; side += kStep)
    if (has_rows({side, side})) return true;
  return false;
}

Size likely_input(const Shape& shape) {
  if (shape.rank() == 0) return {};
  const auto anchors =
      static_cast<uint32_t>(std::min<size_t>(std::ranges::max(shape.dims()), UINT32_MAX));
  for (const DetectorSpec& spec : detectors())
    if (const Size size = usual_input(anchors, spec); size.width != 0) return size;
  return {};
}

Size input_of_maps(const Layout& layout) {
  if (layout.grids.empty() || layout.grids[0].cells.width == 0) return {};
  const uint32_t stride = layout.spec->strides[0];
  return {layout.grids[0].cells.width * stride, layout.grids[0].cells.height * stride};
}

}  // namespace keepbox
