// SPDX-License-Identifier: LGPL-2.1-or-later
// Views of tables and feature maps as anchors x channels.
#pragma once

#include <vector>

#include "core/recognition/layout.h"

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

}  // namespace keepbox
