// SPDX-License-Identifier: LGPL-2.1-or-later
// Headers of NumPy files.
#include "gst/recording/files.h"

#include <gtest/gtest.h>

#include <string>

namespace keepbox {
namespace {

TEST(Npy, RoundTripsItsHeader) {
  for (const Shape& shape : {Shape{3}, Shape{1, 84, 8400}, Shape{2, 3, 4, 5, 6, 7, 8, 9}}) {
    const std::string header = npy_header(DataType::kFloat32, shape);
    EXPECT_EQ(header.size() % 64, 0u);
    const auto array = parse_npy(header);
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->type, DataType::kFloat32);
    EXPECT_EQ(array->offset, header.size());
  }
}

TEST(Npy, RejectsOtherFiles) {
  const std::string good = npy_header(DataType::kFloat32, {2, 2});
  for (std::string text : {std::string(), std::string("hello world!!"), good.substr(0, 20)})
    EXPECT_FALSE(parse_npy(text));
  std::string fortran = good;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_FALSE(parse_npy(fortran));
  std::string complex = good;
  complex.replace(complex.find("<f4"), 3, "<c8");
  EXPECT_FALSE(parse_npy(complex));
}

/// Versions 2 and 3 have a length of four bytes.
TEST(Npy, ReadsLaterVersions) {
  const std::string first = npy_header(DataType::kFloat16, {2, 3});
  for (const size_t blanks : {0, 70'000}) {
    const std::string dict = first.substr(10) + std::string(blanks, ' ');
    for (const char version : {'\2', '\3'}) {
      std::string file = first.substr(0, 6) + version + '\0';
      for (const int shift : {0, 8, 16, 24}) file += static_cast<char>(dict.size() >> shift & 0xff);
      file += dict;
      const auto array = parse_npy(file);
      ASSERT_TRUE(array) << array.error().message();
      EXPECT_EQ(array->shape, (Shape{2, 3}));
      EXPECT_EQ(array->type, DataType::kFloat16);
      EXPECT_EQ(array->offset, file.size());
      EXPECT_FALSE(parse_npy(file.substr(0, file.size() - 1))) << "cut";
    }
  }
}

}  // namespace
}  // namespace keepbox
