// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that is bound to the inputs of a model, and outputs of several pictures.
#include "gst/infer/run/inferencer.h"
#include "gst/infer/facts/modelports.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/infer/declaration.h"

namespace keepbox::inferencer_test {
namespace {

using test::Dims;
using test::port;
using Kind = SizeInput::Kind;

constexpr Size kInput{64, 48};

/// Returns the values of an extra input.
template <class T>
std::vector<T> values_of(const Result<ExtraInput>& extra) {
  EXPECT_TRUE(extra) << extra.error().message();
  if (!extra) return {};
  std::vector<T> out(extra->values.size() / sizeof(T));
  std::memcpy(out.data(), extra->values.data(), extra->values.size());
  return out;
}

TEST(ExtraInputs, HaveTheSizeOfEachPictureInTheirType) {
  const ModelPort whole = port("orig_target_sizes", {-1, 2}, DataType::kInt64);
  const auto two = make_extra(whole, Kind::kWidthHeight, kInput, 2);
  EXPECT_EQ(values_of<int64_t>(two), (std::vector<int64_t>{64, 48, 64, 48}));
  EXPECT_EQ(two->dims, (Dims{2, 2}));
  const ModelPort small = port("im_shape", {1, -1}, DataType::kInt32);
  EXPECT_EQ(values_of<int32_t>(make_extra(small, Kind::kHeightWidth, kInput, 1)),
            (std::vector<int32_t>{48, 64}));
  const ModelPort scale = port("scale_factor", {1, 2}, DataType::kFloat32);
  EXPECT_EQ(values_of<float>(make_extra(scale, Kind::kScale, kInput, 1)),
            (std::vector<float>{1, 1}));
}

TEST(ExtraInputs, HaveMasksUpToThePicturesSize) {
  const auto open =
      make_extra(port("pixel_mask", {-1, -1, -1}, DataType::kInt64), Kind::kPixelMask, kInput, 2);
  EXPECT_EQ(values_of<int64_t>(open), std::vector<int64_t>(2 * 48 * 64, 1));
  EXPECT_EQ(open->dims, (Dims{2, 48, 64}));
  const auto mask = [](Dims dims) {
    return make_extra(port("pixel_mask", std::move(dims), DataType::kInt64), Kind::kPixelMask,
                      kInput, 1);
  };
  EXPECT_TRUE(mask({1, 48, 64}));
  EXPECT_FALSE(mask({1, 49, 64}));
  EXPECT_FALSE(mask({1, 48, 65}));
}

TEST(ExtraInputs, AreNotOfOtherTypes) {
  const auto extra =
      make_extra(port("im_shape", {1, 2}, DataType::kFloat64), Kind::kHeightWidth, kInput, 1);
  ASSERT_FALSE(extra);
  EXPECT_SAID(extra.error().message(), "float32, int64 or int32");
}

TEST(BoundDims, FillOpenOnesByThePicture) {
  const InputForm planes{.size = kInput, .channels = 3};
  const InputForm pixels{.size = kInput, .channels_last = true, .channels = 3};
  EXPECT_EQ(bound_dims(port("x", {-1, -1, -1, -1}), planes, 5), (Dims{5, 3, 48, 64}));
  EXPECT_EQ(bound_dims(port("x", {1, -1, -1, -1}), pixels, 5), (Dims{5, 48, 64, 3}));
  EXPECT_EQ(bound_dims(port("x", {3, -1, -1}), planes, 1), (Dims{3, 48, 64}));
  EXPECT_EQ(bound_dims(port("x", {1, 1, 20, 30}), planes, 2), (Dims{2, 1, 20, 30}));
}

TEST(InputForms, AreOfTheSameMemoryWhateverTheirValuesMean) {
  const InputForm form{.size = kInput, .type = DataType::kFloat32, .channels = 3};
  const auto changed = [&](auto change) {
    InputForm other = form;
    change(other);
    return same_memory(form, other);
  };
  EXPECT_TRUE(changed([](InputForm& of) { of.bgr = !of.bgr; }));
  EXPECT_FALSE(changed([](InputForm& of) { of.size.width = 65; }));
  EXPECT_FALSE(changed([](InputForm& of) { of.size.height = 49; }));
  EXPECT_FALSE(changed([](InputForm& of) { of.type = DataType::kFloat16; }));
  EXPECT_FALSE(changed([](InputForm& of) { of.channels = 1; }));
  EXPECT_FALSE(changed([](InputForm& of) { of.channels_last = true; }));
}

/// Returns the shape of a frame's output from those of its parts; the error's text as an id.
Result<std::vector<Shape>> joined(const std::vector<Shape>& shapes) {
  std::vector<std::vector<InferredTensor>> parts;
  for (const Shape& shape : shapes) {
    std::vector<InferredTensor>& part = parts.emplace_back();
    part.push_back({.type = DataType::kFloat32, .shape = Shape{shape[0], 2}});
    part.push_back({.type = DataType::kFloat32, .shape = shape});
  }
  return joined_shapes(parts);
}

TEST(JoinedShapes, HaveThePicturesOfAllParts) {
  const auto good = joined({{1, 5}, {2, 5}});
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, (std::vector<Shape>{{3, 2}, {3, 5}}));
  const auto bad = joined({{1, 5}, {1, 6}});
  ASSERT_FALSE(bad);
  EXPECT_SAID(bad.error().message(), "differ in size");
}

TEST(Slices, AreOnePerPicture) {
  EXPECT_TRUE(check_slices(test::kYolov8, 0, {2, 6, 8400}, 2));
  const auto one = check_slices(test::kYolov8, 0, {1, 6, 8400}, 2);
  ASSERT_FALSE(one);
  EXPECT_SAID(one.error().message(), "output0");
  EXPECT_SAID(one.error().message(), "set batch-size=1");
  ModelDeclaration fixed = test::kYolov8;
  fixed.batch = 4;
  EXPECT_SAID(check_slices(fixed, 0, {1, 6, 8400}, 4).error().message(),
              "export the model for one picture");
  EXPECT_FALSE(check_slices(test::kYolov8, 0, {}, 1));
}

}  // namespace
}  // namespace keepbox::inferencer_test
