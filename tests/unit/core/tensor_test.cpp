// SPDX-License-Identifier: LGPL-2.1-or-later
// Types, shapes and bounds.
#include "core/base/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace keepbox {
namespace {

TEST(Shape, ParsesAndPrints) {
  for (const char* text : {"1,84,8400", "1x84x8400", "1:84:8400"}) {
    const auto shape = shape_from(text);
    ASSERT_TRUE(shape) << text;
    EXPECT_EQ(*shape, (Shape{1, 84, 8400}));
    EXPECT_EQ(shape->to_string(), "1x84x8400");
  }
  for (const char* text : {"", ",", "1,", "a", "1,b", "-1", "1,,2", "1 2", "1,2,3,4,5,6,7,8,9",
                           "99999999999999999999999"})
    EXPECT_FALSE(shape_from(text)) << text;
}

TEST(Shape, RejectsProductsThatOverflow) {
  EXPECT_FALSE((Shape{SIZE_MAX, 2}.count()));
  EXPECT_FALSE((Shape{1u << 31, 1u << 31, 4}.count()));
  EXPECT_EQ((Shape{0, SIZE_MAX}.count()), 0u);
}

TEST(CheckBounds, ReportsMissingBytes) {
  const float data[6]{};
  TensorView view{.id = "out", .data = data, .bytes = sizeof data, .shape = {2, 3}};
  EXPECT_TRUE(check_bounds(view));
  view.shape = {2, 4};
  const auto status = check_bounds(view);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kTruncated);
  EXPECT_NE(status.error().message().find("32 bytes"), std::string::npos)
      << status.error().message();
  EXPECT_NE(status.error().message().find("24 bytes"), std::string::npos);
  view.shape = {SIZE_MAX / 2, 3};
  EXPECT_FALSE(check_bounds(view));
  view = {.data = nullptr, .bytes = 100, .shape = {1}};
  EXPECT_FALSE(check_bounds(view));
}

TEST(DataType, NamesAreUnique) {
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float16", "bfloat16", "float32", "float64"}) {
    const auto type = data_type_from(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(to_string(*type), name);
  }
  EXPECT_FALSE(data_type_from("float"));
}

template <class T>
float load_one(DataType type, T value, size_t shift = 0) {
  std::vector<std::byte> bytes(shift + sizeof(T));
  std::memcpy(bytes.data() + shift, &value, sizeof(T));
  return load({.data = bytes.data() + shift, .bytes = sizeof(T), .type = type, .shape = {1}}, 0);
}

TEST(Load, ReadsEveryType) {
  EXPECT_EQ(load_one<int8_t>(DataType::kInt8, -5), -5);
  EXPECT_EQ(load_one<uint8_t>(DataType::kUInt8, 250), 250);
  EXPECT_EQ(load_one<int16_t>(DataType::kInt16, -3000), -3000);
  EXPECT_EQ(load_one<uint16_t>(DataType::kUInt16, 60000), 60000);
  EXPECT_EQ(load_one<int32_t>(DataType::kInt32, -70000), -70000);
  EXPECT_EQ(load_one<uint32_t>(DataType::kUInt32, 70000), 70000);
  EXPECT_EQ(load_one<int64_t>(DataType::kInt64, -3), -3);
  EXPECT_EQ(load_one<uint64_t>(DataType::kUInt64, 3), 3);
  EXPECT_EQ(load_one<uint16_t>(DataType::kFloat16, 0x3c00), 1);
  EXPECT_EQ(load_one<uint16_t>(DataType::kBFloat16, 0x4000), 2);
  EXPECT_EQ(load_one<float>(DataType::kFloat32, 0.1f), 0.1f);
  EXPECT_EQ(load_one<double>(DataType::kFloat64, 0.5), 0.5f);
}

TEST(Load, ReadsUnalignedMemory) {
  for (size_t shift = 0; shift < 8; ++shift)
    EXPECT_EQ(load_one<float>(DataType::kFloat32, 1.5f, shift), 1.5f);
}

TEST(Load, Dequantises) {
  const int8_t stored = 27;
  const TensorView view{.data = &stored,
                        .bytes = 1,
                        .type = DataType::kInt8,
                        .shape = {1},
                        .scale = 0.5f,
                        .zero_point = -3};
  EXPECT_EQ(load(view, 0), 15.0f);
}

}  // namespace
}  // namespace keepbox
