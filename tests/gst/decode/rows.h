// SPDX-License-Identifier: LGPL-2.1-or-later
// Two boxes far from each other.
#pragma once

#include <vector>

#include "tests/scene.h"

namespace keepbox::test {

inline const std::vector<Row> kTwo{{10.4f, 20.6f, 110.2f, 220.7f, 0.9f, 2},
                                   {300, 300, 340, 380, 0.6f, 7}};

}  // namespace keepbox::test
