// SPDX-License-Identifier: LGPL-2.1-or-later
// Sets properties of elements to any value that they accept.
#pragma once

#include <gst/gst.h>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Sets one property of an element, or reads its statistics. Properties with file locations and
/// properties that require a GPU are not changed. @return true if one was set.
bool change_property(Input& input, GstElement* element);

}  // namespace keepbox::fuzz
