// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits tensors to a family: by tables or feature maps, with numbers of channels and errors.
#pragma once

#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/recognition/layout.h"
#include "core/recognition/texts.h"

namespace keepbox {

/// Returns the values per anchor, with the number of classes of the request if it is set.
size_t channels_of(const DetectorSpec& spec, const TensorRule& rule, const Request& request);

/// Returns the payload values among the `values` values of class scores and payload.
std::optional<size_t> payload_of(const DetectorSpec& spec, size_t values,
                                 std::span<const TensorView> tensors, const Request& request);

// Fits a family to tensors.

/// Fits a given family, whatever the ids. Tensors are matched by id, then by shape, and those of
/// equal shape by the family's order. If other values follow the class scores, the number of
/// classes is `num_classes`, or follows from the prototypes of mask coefficients, the labels, or
/// the family's COCO models, in this order.
Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request);

/// Fits a dense or ready family to its one tensor.
Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request);

}  // namespace keepbox
