// SPDX-License-Identifier: LGPL-2.1-or-later
// Changes to a family, one each.
#pragma once

#include <array>
#include <string_view>

#include "core/detector.h"

namespace keepbox::families {

using Ids = std::array<std::string_view, 4>;
using Plain = std::array<std::string_view, 2>;
using Strides = std::array<uint16_t, kMostLevels>;
using CellAnchors = std::array<uint8_t, kMostLevels>;

inline constexpr Strides kThree{8, 16, 32}, kFour{8, 16, 32, 64}, kFive{8, 16, 32, 64, 128};

constexpr DetectorSpec by_table(DetectorSpec spec) {
  spec.priors = true;
  return spec;
}

constexpr DetectorSpec shaped(DetectorSpec spec) {
  spec.by_shape = true;
  return spec;
}

constexpr DetectorSpec with_units(DetectorSpec spec, Units units) {
  spec.units = units;
  return spec;
}

constexpr DetectorSpec with_payload(DetectorSpec spec, Payload payload, uint16_t count) {
  spec.payload = payload;
  spec.payload_count = count;
  return spec;
}

constexpr DetectorSpec suppressed(DetectorSpec spec, std::string_view contract) {
  spec.nms = NmsMethod::kGreedy;
  spec.contract = contract;
  return spec;
}

constexpr DetectorSpec with_xy_scales(DetectorSpec spec, std::array<float, kMostLevels> scales) {
  spec.xy_scales = scales;
  return spec;
}

constexpr DetectorSpec labelled(DetectorSpec spec) {
  spec.multi_label = true;
  return spec;
}

constexpr DetectorSpec with_strides(DetectorSpec spec, Strides strides,
                                    std::array<uint8_t, kMostLevels> anchors = {1}) {
  spec.strides = strides;
  spec.cell_anchors = anchors;
  return spec;
}

constexpr DetectorSpec with_tensor(DetectorSpec spec, TensorRule rule) {
  spec.tensors[spec.tensor_count++] = rule;
  return spec;
}

}  // namespace keepbox::families
