// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the dimensions of a tensor that are anchors and channels.
#include "core/recognition/map_views.h"

#include <optional>
#include <span>

namespace keepbox {
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

}  // namespace keepbox
