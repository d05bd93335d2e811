// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a model gives the same results in batches, by a runtime whose results the test chooses.
#include "gst/infer/host/batchchecks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "core/formula/numeric.h"

namespace keepbox::batchchecks {
namespace {

constexpr size_t kRowValues = 8;  // of an output, per picture

/// A model whose output depends on the first byte of each picture, with an error in batches.
struct Answers {
  DataType type;
  float error;  // relative, of every other value of a batch
  mutable std::deque<std::vector<std::byte>> outputs{};  // of all runs
};

class Run final : public BoundRun {
 public:
  explicit Run(const Answers& answers) : answers_(answers) {}

  Status bind(size_t, std::span<std::byte> data, DataType, std::span<const int64_t> dims) override {
    data_ = data;
    batch_ = static_cast<size_t>(dims[0]);
    return {};
  }
  Result<std::vector<ModelOutput>> run() const override {
    const size_t each = data_.size() / batch_, size = size_of(answers_.type);
    std::vector<std::byte>& memory =
        answers_.outputs.emplace_back(batch_ * kRowValues * size, std::byte{});
    for (size_t i = 0; i < batch_ * kRowValues; ++i) {
      const auto picture = static_cast<float>(data_[i / kRowValues * each]);
      const float value = (1 + picture) * (1 + (batch_ > 1 && i % 2 != 0 ? answers_.error : 0));
      const uint16_t half = float_to_half(value);
      if (size == sizeof half) std::memcpy(&memory[i * size], &half, size);
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
    claims_.inputs = {{"images", DataType::kUInt8, {-1, 1, 4, 4}}};
    claims_.outputs = {{"rows", answers.type, {-1, int64_t{kRowValues}}}};
  }
  const SessionSpec& spec() const override { return spec_; }
  const ModelClaims& claims() const override { return claims_; }
  Result<std::unique_ptr<ModelRuns>> runs() const override {
    return std::make_unique<Runs>(answers_);
  }

 private:
  const Answers& answers_;
  SessionSpec spec_;
  ModelClaims claims_;
};

bool is_same(DataType type, float error) {
  const Answers answers{type, error};
  const Session session(answers);
  const ModelFacts facts{.input = {.size = {4, 4}, .type = DataType::kUInt8, .channels = 1}};
  return compare_batches(session, session, facts).has_value();
}

TEST(BatchChecks, AllowForTheRoundingOfTheType) {
  EXPECT_TRUE(is_same(DataType::kFloat32, 0));
  EXPECT_TRUE(is_same(DataType::kFloat32, 1e-6f));
  EXPECT_FALSE(is_same(DataType::kFloat32, 1e-3f));
  EXPECT_TRUE(is_same(DataType::kFloat16, 0));
  EXPECT_TRUE(is_same(DataType::kFloat16, 1e-3f)) << "float16 has 11 bits";
  EXPECT_FALSE(is_same(DataType::kFloat16, 2e-2f));
}

}  // namespace
}  // namespace keepbox::batchchecks
