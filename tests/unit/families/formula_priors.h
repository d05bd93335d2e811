// SPDX-License-Identifier: LGPL-2.1-or-later
// Prior boxes, as in each model's code.
#pragma once

#include <array>

#include "tests/unit/families/formula.h"

namespace keepbox::test {

using Prior64 = std::array<double, 4>;  // cx cy w h, input pixels

Prior64 tensorflow_prior(const Place& at);
Prior64 ssd300_prior(const Place& at);
Prior64 ssdlite_prior(const Place& at);
Prior64 retinanet_prior(const Place& at);
Prior64 efficientdet_prior(const Place& at);
Prior64 retinaface_prior(const Place& at);
Prior64 plate_prior(const Place& at);
Prior64 ultraface_prior(const Place& at);

}  // namespace keepbox::test
