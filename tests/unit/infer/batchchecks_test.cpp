// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a model gives the same results in batches, by a runtime whose results the test chooses.
#include "gst/infer/onnx/openbatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include "core/formula/numeric.h"

namespace keepbox::batchchecks {
namespace {

constexpr size_t kRowValues = 8;  // of an output, per picture

/// A model with large values that all pictures share, and small ones by a byte of each.
struct Answers {
  DataType type;
  float error = 0;      // of a batch, relative
  bool mixed = false;   // in a batch the small values are those of the next picture
  bool holes = false;   // the last value of some pictures is NaN
  bool torn = false;    // in a batch one value is NaN
  bool alike = false;   // all pictures have the same values
  bool bright = false;  // a white picture in a batch changes the values of all
  DataType input = DataType::kUInt8;
  bool half = false;                                     // the model computes in float16
  mutable std::vector<double> brightness{};              // means of inputs in float16
  mutable std::deque<std::vector<std::byte>> outputs{};  // of all runs
};

class Run final : public BoundRun {
 public:
  explicit Run(const Answers& answers) : answers_(answers) {}

  Status bind(size_t, std::span<std::byte> data, DataType type,
              std::span<const int64_t> dims) override {
    data_ = data;
    batch_ = static_cast<size_t>(dims[0]);
    if (type != DataType::kFloat16) return {};
    const size_t count = data.size() / sizeof(uint16_t);
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += load({.data = data.data(), .type = type}, i);
    answers_.brightness.push_back(sum / static_cast<double>(count));
    return {};
  }
  Result<std::vector<ModelOutput>> run() const override {
    const size_t each = data_.size() / batch_, size = size_of(answers_.type);
    const bool changed = answers_.bright && batch_ > 1 && has_white(each);
    std::vector<std::byte>& memory =
        answers_.outputs.emplace_back(batch_ * kRowValues * size, std::byte{});
    for (size_t i = 0; i < batch_ * kRowValues; ++i) {
      const size_t picture = (i / kRowValues + (answers_.mixed ? 1 : 0)) % batch_;
      const std::byte first = answers_.alike ? std::byte{} : data_[picture * each];
      const float small = (1 + static_cast<float>(first)) / 512;
      float value = (i % 2 == 0 ? 640 : small) * (1 + (batch_ > 1 ? answers_.error : 0));
      if (answers_.holes && i % kRowValues == kRowValues - 1 &&
          (static_cast<unsigned>(data_[picture * each]) & 1) != 0)
        value = NAN;
      if (changed) value += 1;
      if (answers_.torn && batch_ > 1 && i == 1) value = NAN;
      const uint16_t half = float_to_half(value);
      const double wide = value;
      if (size == sizeof half) std::memcpy(&memory[i * size], &half, size);
      else if (size == sizeof wide) std::memcpy(&memory[i * size], &wide, size);
      else std::memcpy(&memory[i * size], &value, size);
    }
    std::vector<ModelOutput> out(1);
    out[0].data = memory.data();
    out[0].bytes = memory.size();
    out[0].type = answers_.type;
    out[0].shape = {batch_, kRowValues};
    return out;
  }

 private:
  /// @param bytes of a picture.
  bool has_white(size_t bytes) const {
    for (size_t i = 0; i < batch_; ++i)
      if (std::ranges::all_of(data_.subspan(i * bytes, bytes),
                              [](std::byte value) { return value == std::byte{255}; }))
        return true;
    return false;
  }

  const Answers& answers_;
  std::span<std::byte> data_;
  size_t batch_ = 1;
};

class Runs final : public ModelRuns {
 public:
  explicit Runs(const Answers& answers) : answers_(answers) {}
  std::unique_ptr<BoundRun> make() const override { return std::make_unique<Run>(answers_); }
  void terminate(bool) override {}

 private:
  const Answers& answers_;
};

class Session final : public ModelSession {
 public:
  explicit Session(const Answers& answers) : answers_(answers) {
    declaration_.inputs = {{"images", answers.input, {-1, 1, 4, 4}}};
    declaration_.outputs = {{"rows", answers.type, {-1, int64_t{kRowValues}}}};
  }
  const ModelDeclaration& declaration() const override { return declaration_; }
  Result<std::unique_ptr<ModelRuns>> runs() const override {
    return std::make_unique<Runs>(answers_);
  }

 private:
  const Answers& answers_;
  ModelDeclaration declaration_;
};

bool is_same(const Answers& answers) {
  const Session session(answers);
  const ModelFacts facts{
      .input = {
          .size = {4, 4}, .type = answers.input, .channels = 1, .deviation = {255, 255, 255}}};
  return compare_batches(session, session, facts, answers.half).has_value();
}

TEST(BatchChecks, AllowForTheRoundingOfTheType) {
  for (const float error : {0.0f, 1e-6f})
    EXPECT_TRUE(is_same({.type = DataType::kFloat32, .error = error})) << error;
  EXPECT_FALSE(is_same({.type = DataType::kFloat32, .error = 1e-3f}));
  for (const float error : {0.0f, 1e-3f})
    EXPECT_TRUE(is_same({.type = DataType::kFloat16, .error = error})) << error;
  EXPECT_FALSE(is_same({.type = DataType::kFloat16, .error = 2e-2f}));
}

/// Such models convert their outputs to float32.
TEST(BatchChecks, AllowForTheRoundingOfFloat16InOutputsOfFloat32) {
  EXPECT_TRUE(is_same({.type = DataType::kFloat32, .error = 1e-3f, .half = true}));
  EXPECT_FALSE(is_same({.type = DataType::kFloat32, .error = 2e-2f, .half = true}));
}

TEST(BatchChecks, RejectSmallValuesOfAnotherPicture) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16})
    EXPECT_FALSE(is_same({.type = type, .mixed = true}));
  EXPECT_FALSE(is_same({.type = DataType::kFloat32, .mixed = true, .half = true}));
}

TEST(BatchChecks, AcceptValuesThatAreNotFinite) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16})
    EXPECT_TRUE(is_same({.type = type, .holes = true}));
}

TEST(BatchChecks, RejectValuesThatAreFiniteOnlyAlone) {
  EXPECT_FALSE(is_same({.type = DataType::kFloat32, .torn = true}));
  EXPECT_FALSE(is_same({.type = DataType::kFloat16, .torn = true}));
}

TEST(BatchChecks, AreOfFloat64Too) {
  EXPECT_TRUE(is_same({.type = DataType::kFloat64, .error = 1e-6f}));
  EXPECT_FALSE(is_same({.type = DataType::kFloat64, .error = 1e-3f}));
  EXPECT_FALSE(is_same({.type = DataType::kFloat64, .mixed = true}));
}

/// The bits of the values count as integers.
TEST(BatchChecks, AllowForNoRoundingOfIntegers) {
  EXPECT_TRUE(is_same({.type = DataType::kInt32}));
  EXPECT_FALSE(is_same({.type = DataType::kInt32, .error = 1e-6f}));
}

/// A model that ignores its pictures would pass any comparison.
TEST(BatchChecks, NeedResultsThatDependOnThePicture) {
  EXPECT_FALSE(is_same({.type = DataType::kFloat32, .alike = true}));
}

/// Noise alone has a mean that hardly changes from picture to picture.
TEST(BatchChecks, RejectModelsInWhichABrightPictureChangesTheOthers) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16})
    EXPECT_FALSE(is_same({.type = type, .bright = true}));
}

TEST(BatchChecks, TryDarkMediumAndBrightPicturesInTheModelsRange) {
  const Answers answers{.type = DataType::kFloat32, .input = DataType::kFloat16};
  EXPECT_TRUE(is_same(answers));
  ASSERT_EQ(answers.brightness.size(), 5u) << "a batch, and its pictures";
  const double means[] = {0.45, 0.5, 0, 0.25, 1};
  for (size_t i = 0; i < std::size(means); ++i)
    EXPECT_NEAR(answers.brightness[i], means[i], 0.1) << i;
}

}  // namespace
}  // namespace keepbox::batchchecks
