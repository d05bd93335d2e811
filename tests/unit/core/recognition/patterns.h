// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors with rows by a formula, and the messages of plans about tensors.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "tests/dense.h"

namespace keepbox::signs {

using test::Tensor;
using test::uniform_number;

inline Result<Plan> plan_of(const std::vector<Tensor>& tensors, Settings settings = {}) {
  if (settings.frame.size.width == 0) settings.frame.size = {320, 320};
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return make_plan(settings, views);
}

inline std::string error_of(const std::vector<Tensor>& tensors) {
  const auto plan = plan_of(tensors);
  return plan ? "" : plan.error().message();
}

inline void expect_family(const std::vector<Tensor>& tensors, std::string_view name,
                          Basis basis = Basis::kValues, Settings settings = {}) {
  const auto plan = plan_of(tensors, settings);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->spec->name, name) << plan->remark;
  EXPECT_EQ(plan->basis, basis) << plan->remark;
}

inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

/// Rows with values by a formula of row and column.
template <class Number>
Tensor rows(size_t count, size_t columns, Number number) {
  Tensor out{.values = {}, .shape = {1, count, columns}};
  for (size_t row = 0; row < count; ++row)
    for (size_t column = 0; column < columns; ++column) out.values.push_back(number(row, column));
  return out;
}

/// Offsets from cells, log sizes, an objectness and classes.
inline Tensor yolox(size_t anchors, size_t classes) {
  std::mt19937 random(3);
  return rows(anchors, 5 + classes, [&](size_t, size_t column) {
    return column < 2   ? uniform_number(random, -1, 2)
           : column < 4 ? uniform_number(random, -3, 3)
                        : uniform_number(random, 0, 0.5f);
  });
}

}  // namespace keepbox::signs
