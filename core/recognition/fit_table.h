// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits a dense or ready family to one tensor.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Fits a dense or ready family to one of the tensors, of any number of anchors and classes.
Result<Layout> fit_table(const DetectorSpec& spec, std::span<const TensorView> tensors,
                         size_t index, const Request& request);

}  // namespace keepbox
