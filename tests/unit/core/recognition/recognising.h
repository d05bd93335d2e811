// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition of tensors without values.
#pragma once

#include "core/recognition/recognise.h"

#include <gtest/gtest.h>

#include <vector>

namespace keepbox::test {

inline TensorView tensor(Shape shape, std::string_view id = {},
                         DataType type = DataType::kFloat32) {
  return {.id = id, .type = type, .shape = shape};
}

inline Result<Recognition> see(std::vector<TensorView> tensors, Request request = {}) {
  return recognise(tensors, request);
}

inline void expect_family(const Result<Recognition>& seen, std::string_view name, uint32_t anchors,
                          uint32_t classes) {
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout.spec->name, name) << seen->remark;
  EXPECT_EQ(seen->layout.anchors, anchors);
  EXPECT_EQ(seen->layout.classes, classes);
  EXPECT_NE(seen->remark.find(name), std::string::npos);
}

}  // namespace keepbox::test
