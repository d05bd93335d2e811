// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of elements, set to anything that they take.
#pragma once

#include <gst/gst.h>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Sets one property of an element, or reads its statistics. What says where files lie, and what
/// wants a GPU, stays as it is. @return was one set?
bool change_property(Input& input, GstElement* element);

}  // namespace keepbox::fuzz
