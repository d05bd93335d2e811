// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a model gives the same results in batches, by models that differ in a batch as the test
// chooses.
#include <cmath>

#include "core/formula/numeric.h"
#include "gst/infer/onnx/openbatch.h"
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::onnx::Type;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int64_t kRowValues = 8;  // of an output, per picture
constexpr int64_t kSide = 4;       // of an input

/// Outputs of a model: large values that all pictures share, small ones by the first value
/// of each.
struct Answers {
  Type type = Type::kFloat;
  float error = 0;      // of a batch, relative
  bool mixed = false;   // in a batch the small values are those of the next picture
  bool holes = false;   // the last value of some pictures is NaN
  bool torn = false;    // in a batch some values are NaN
  bool alike = false;   // all pictures have the same values
  bool bright = false;  // a white picture in a batch changes the values of all
  bool half = false;    // the model computes in float16
};

/// Builds the model of some answers, whose batch is dynamic.
class Answering {
 public:
  explicit Answering(const Answers& answers) : answers_(answers) {
    model_.inputs = {{"images", Type::kUInt8, {"n", 1, kSide, kSide}}};
    model_.outputs = {{"rows", answers.type, {"n", kRowValues}}};
    const std::string pixels =
        model_.add("Reshape", {cast("images", Type::kFloat), ints({0, kSide * kSide})});
    const std::string rows = rows_of(first_of(pixels));
    std::string values = model_.add(
        "Mul", {rows, model_.add("Add", {model_.number(1),
                                         times(in_batch(), model_.number(answers.error))})});
    if (answers.bright) values = model_.add("Add", {values, times(in_batch(), white_of(pixels))});
    if (answers.holes) values = with_nan(values, times(odd(first_of(pixels)), column(7)));
    if (answers.torn) values = with_nan(values, times(in_batch(), column(1)));
    // rounding would hide small errors of integers
    if (answers.type == Type::kInt32) values = times(values, model_.number(1 << 20));
    model_.add("Cast", {values}, {{"to", static_cast<int64_t>(answers.type)}}, "rows");
  }

  const test::onnx::Model& model() const { return model_; }

 private:
  std::string ints(const Ints& values) {
    return model_.constant({static_cast<int64_t>(values.size())}, values);
  }
  std::string cast(const std::string& of, Type type) {
    return model_.add("Cast", {of}, {{"to", static_cast<int64_t>(type)}});
  }
  std::string times(const std::string& a, const std::string& b) {
    return model_.add("Mul", {a, b});
  }
  std::string slice(const std::string& of, int64_t from, int64_t to, int64_t axis) {
    return model_.add("Slice", {of, ints({from}), ints({to}), ints({axis})});
  }
  /// 1 in a column of rows, else 0.
  std::string column(size_t number) {
    Floats values(kRowValues, 0);
    values[number] = 1;
    return model_.constant({1, kRowValues}, values);
  }
  /// 1 if there are several pictures, else 0.
  std::string in_batch() {
    const std::string count = slice(model_.add("Shape", {"images"}), 0, 1, 0);
    return cast(model_.add("Greater", {count, ints({1})}), Type::kFloat);
  }
  std::string first_of(const std::string& pixels) { return slice(pixels, 0, 1, 1); }
  std::string odd(const std::string& values) {
    return cast(model_.add("Mod", {cast(values, Type::kInt64), ints({2})}), Type::kFloat);
  }
  /// 1 if a picture is white, else 0.
  std::string white_of(const std::string& pixels) {
    const std::string darkest = model_.add("ReduceMin", {pixels}, {{"axes", Ints{1}}});
    const std::string brightest = model_.add("ReduceMax", {darkest});
    return cast(model_.add("Greater", {brightest, model_.number(254.5f)}), Type::kFloat);
  }
  std::string rows_of(const std::string& first) {
    std::string by = first;
    if (answers_.mixed)
      by = model_.add("Concat", {slice(first, 1, 1 << 20, 0), slice(first, 0, 1, 0)},
                      {{"axis", int64_t{0}}});
    if (answers_.alike) by = times(by, model_.number(0));
    const std::string small =
        times(model_.add("Add", {by, model_.number(1)}), model_.number(1.0f / 512));
    const std::string odd_ones = model_.constant({1, kRowValues}, Floats{0, 1, 0, 1, 0, 1, 0, 1});
    const std::string large =
        model_.constant({1, kRowValues}, Floats{640, 0, 640, 0, 640, 0, 640, 0});
    return model_.add("Add", {large, times(small, odd_ones)});
  }
  std::string with_nan(const std::string& values, const std::string& where) {
    const std::string here = model_.add("Greater", {where, model_.number(0.5f)});
    return model_.add("Where", {here, model_.number(NAN), values});
  }

  const Answers answers_;
  test::onnx::Model model_;
};

class BatchChecks : public test::Inference {
 protected:
  bool is_same(const Answers& answers) {
    const std::string path = dir_.write("answers.onnx", Answering(answers).model().file());
    const auto session = OnnxSession::open({.file = path, .threads = 1});
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return false;
    const ModelFacts facts{
        .input = {.size = {kSide, kSide}, .type = DataType::kUInt8, .channels = 1}};
    const Status same = compare_batches(**session, **session, facts, answers.half);
    EXPECT_TRUE(same || same.error().message().contains("cannot run batches"))
        << same.error().message();
    return same.has_value();
  }
};

TEST_F(BatchChecks, AllowForTheRoundingOfTheType) {
  for (const float error : {0.0f, 1e-6f}) EXPECT_TRUE(is_same({.error = error})) << error;
  EXPECT_FALSE(is_same({.error = 1e-3f}));
  for (const float error : {0.0f, 1e-3f})
    EXPECT_TRUE(is_same({.type = Type::kFloat16, .error = error})) << error;
  EXPECT_FALSE(is_same({.type = Type::kFloat16, .error = 2e-2f}));
}

/// Such models convert their outputs to float32.
TEST_F(BatchChecks, AllowForTheRoundingOfFloat16InOutputsOfFloat32) {
  EXPECT_TRUE(is_same({.error = 1e-3f, .half = true}));
  EXPECT_FALSE(is_same({.error = 2e-2f, .half = true}));
}

TEST_F(BatchChecks, RejectSmallValuesOfAnotherPicture) {
  for (const Type type : {Type::kFloat, Type::kFloat16})
    EXPECT_FALSE(is_same({.type = type, .mixed = true}));
  EXPECT_FALSE(is_same({.mixed = true, .half = true}));
}

TEST_F(BatchChecks, AcceptValuesThatAreNotFinite) {
  for (const Type type : {Type::kFloat, Type::kFloat16})
    EXPECT_TRUE(is_same({.type = type, .holes = true}));
}

TEST_F(BatchChecks, RejectValuesThatAreFiniteOnlyAlone) {
  EXPECT_FALSE(is_same({.torn = true}));
  EXPECT_FALSE(is_same({.type = Type::kFloat16, .torn = true}));
}

TEST_F(BatchChecks, AreOfFloat64Too) {
  EXPECT_TRUE(is_same({.type = Type::kDouble, .error = 1e-6f}));
  EXPECT_FALSE(is_same({.type = Type::kDouble, .error = 1e-3f}));
  EXPECT_FALSE(is_same({.type = Type::kDouble, .mixed = true}));
}

TEST_F(BatchChecks, AllowForNoRoundingOfIntegers) {
  EXPECT_TRUE(is_same({.type = Type::kInt32}));
  EXPECT_FALSE(is_same({.type = Type::kInt32, .error = 1e-6f}));
}

/// A model that ignores its pictures would pass any comparison.
TEST_F(BatchChecks, NeedResultsThatDependOnThePicture) { EXPECT_FALSE(is_same({.alike = true})); }

/// Noise alone has a mean that hardly changes from picture to picture.
TEST_F(BatchChecks, RejectModelsInWhichABrightPictureChangesTheOthers) {
  for (const Type type : {Type::kFloat, Type::kFloat16})
    EXPECT_FALSE(is_same({.type = type, .bright = true}));
}

TEST(TriedPictures, AreDarkMediumAndBrightInTheModelsRange) {
  const InputForm input{.size = {kSide, kSide},
                        .type = DataType::kFloat16,
                        .channels = 1,
                        .deviation = {255, 255, 255}};
  std::vector<std::byte> pictures(kTriedPictures * input.bytes());
  draw_tried(pictures, input);
  const double means[] = {0.5, 0, 0.25, 1};
  constexpr size_t kPixels = kSide * kSide;
  for (size_t i = 0; i < kTriedPictures; ++i) {
    double sum = 0;
    for (size_t k = 0; k < kPixels; ++k)
      sum += load({.data = pictures.data(), .type = input.type}, i * kPixels + k);
    EXPECT_NEAR(sum / kPixels, means[i], 0.1) << i;
  }
}

}  // namespace
}  // namespace keepbox
