// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds fields of a model family that contradict each other.
#pragma once

#include <optional>

#include "core/model/detector.h"
#include "gst/decode/detectorfile/detectorfault.h"

namespace keepbox {

/// Returns the first fault: fields that would make a plan read beyond the tensors, or that have no
/// effect. std::nullopt if the family can be decoded.
std::optional<Fault> find_fault(const DetectorSpec& spec);

}  // namespace keepbox
