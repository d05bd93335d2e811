// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the tensors of each level of a family.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/recognition/layout.h"
#include "core/recognition/map_views.h"

namespace keepbox {

/// Views of a level, one per rule; those of optional rules may have no tensor.
using MapLevel = std::array<MapView, std::tuple_size_v<decltype(DetectorSpec::tensors)>>;

/// Fits the tensors to that many levels, the one with the most anchors first, or returns nothing.
std::optional<std::vector<MapLevel>> find_levels(const DetectorSpec& spec,
                                                 std::span<const TensorView> tensors,
                                                 const Request& request, size_t count, Order order);

}  // namespace keepbox
