// SPDX-License-Identifier: LGPL-2.1-or-later
// Values and forms shared by the YOLO families.
#pragma once

#include "tests/unit/families/formula.h"

namespace keepbox::test {

inline constexpr Size kRagged{608, 800};

/// Draws offsets, and logarithms or logits of sizes.
inline std::vector<double> draw_raw(Chance& chance, const Place&) {
  return {between(chance, -2, 2), between(chance, -2, 2), between(chance, -1, 1.5),
          between(chance, -1, 1.5)};
}

template <size_t kClasses>
Scores probable(Chance& chance, bool hot) {
  return draw_probabilities(chance, kClasses, hot);
}

inline const std::vector<Form> kTables{{},
                                       {.input = kRagged},
                                       {.order = Order::kPlanes},
                                       {.order = Order::kFlat},
                                       {.type = DataType::kFloat16},
                                       {.type = DataType::kBFloat16},
                                       {.type = DataType::kInt16},
                                       {.order = Order::kPlanes, .type = DataType::kFloat16},
                                       {.multi_label = true}};

/// Returns the models with raw heads, with which yolo_models() ends.
std::vector<Model> head_models();

}  // namespace keepbox::test
