// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors for tensors that a given family does not fit.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Returns kMismatch with the tensors that the family has and those that were found.
std::unexpected<Error> mismatch(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                const Request& request);

/// Returns kMismatch for a tensor whose values after the class scores cannot be the payload.
std::unexpected<Error> no_payload(const DetectorSpec& spec, const TensorView& tensor,
                                  const Request& request);

}  // namespace keepbox
