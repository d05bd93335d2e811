// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the columns of a model family.
#pragma once

#include "gst/decode/detectorfile/detectorfault.h"

namespace keepbox {

/// Returns the first fault of the columns: outside of a row, on top of each other, or not allowed
/// with the family's reader.
Found check_columns(const DetectorSpec& spec);

}  // namespace keepbox
