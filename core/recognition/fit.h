// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits a family to tensors.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/recognition/channels.h"
#include "core/recognition/family_text.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Fits a given family, whatever the ids. Tensors are matched by id, then by shape, and those of
/// equal shape by the family's order. If other values follow the class scores, the number of
/// classes is `class_count`, or follows from the prototypes of mask coefficients, the labels, or
/// the family's COCO models, in this order.
Result<Layout> fit(const DetectorSpec& spec, std::span<const TensorView> tensors,
                   const Request& request);

/// Fits a dense or ready family to its one tensor.
Result<Layout> fit_at(const DetectorSpec& spec, std::span<const TensorView> tensors, size_t index,
                      const Request& request);

}  // namespace keepbox
