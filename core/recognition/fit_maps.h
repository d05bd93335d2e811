// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits families to tables and feature maps.
#pragma once

#include <optional>
#include <span>

#include "core/recognition/layout.h"

namespace keepbox {

/// Fits a family whose boxes and scores are tables or feature maps, in one tensor each or in one
/// tensor, for all levels or per level; nothing if it does not fit.
std::optional<Layout> fit_maps(const DetectorSpec& spec, std::span<const TensorView> tensors,
                               const Request& request);

}  // namespace keepbox
