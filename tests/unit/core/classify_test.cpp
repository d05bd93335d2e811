// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes from scores, and text from steps.
#include <gtest/gtest.h>

#include <cmath>

#include "core/classify/classify.h"

namespace keepbox {
namespace {

TensorView view_of(const std::vector<float>& values, Shape shape) {
  return {.id = "scores",
          .data = values.data(),
          .bytes = values.size() * sizeof(float),
          .shape = shape};
}

TEST(Classes, AreTheBestOfASoftmax) {
  const std::vector<float> values{9, 9, 9, 1, 3, 2};
  const auto best = best_classes(view_of(values, {2, 3}), 1, {.max_classes = 2});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].class_id, 1u);
  const double sum = std::exp(-2.0) + 1 + std::exp(-1.0);
  EXPECT_NEAR(best[0].level, 1 / sum, 1e-6);
  EXPECT_EQ(best[1].class_id, 2u);
  EXPECT_NEAR(best[1].level, std::exp(-1.0) / sum, 1e-6);
}

TEST(Classes, AreAllThatPassWithSigmoids) {
  const std::vector<float> values{0, 3, -3, 5};
  const auto best =
      best_classes(view_of(values, {1, 4}), 0,
                   {.activation = Activation::kSigmoid, .max_classes = 4, .threshold = 0.4f});
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].class_id, 3u);
  EXPECT_EQ(best[2].class_id, 0u);
  EXPECT_FLOAT_EQ(best[2].level, 0.5f);
}

TEST(Classes, PreferTheLowerNumberAndLeaveOutWhatIsNotFinite) {
  const std::vector<float> values{NAN, 0.5f, 0.5f, INFINITY};
  const auto best =
      best_classes(view_of(values, {1, 4}), 0, {.activation = Activation::kNone, .max_classes = 4});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].class_id, 1u);
  const std::vector<float> none{NAN, NAN};
  EXPECT_TRUE(best_classes(view_of(none, {1, 2}), 0, {}).empty());
}

/// Steps with the probability .9 for the best class, and the rest for class 0 or 1.
std::vector<float> steps(std::initializer_list<size_t> best, size_t classes) {
  std::vector<float> out;
  for (const size_t each : best) {
    const size_t at = out.size();
    out.resize(at + classes, 0.0f);
    out[at + each] = 0.9f;
    out[at + (each == 0 ? 1 : 0)] += 0.1f;
  }
  return out;
}

const std::vector<std::string> kLetters{"A", "B", "\xc3\xa4"};

TEST(Text, MergesRepetitionsAndDropsBlanks) {
  const auto letters = Characters::create(kLetters, 4);
  ASSERT_TRUE(letters) << letters.error().message();
  const std::vector<float> values = steps({1, 1, 0, 1, 2, 0, 0, 3, 3}, 4);
  const ReadText read = read_text(view_of(values, {1, 9, 4}), 0, *letters, Activation::kNone);
  EXPECT_EQ(read.text, "AAB\xc3\xa4");
  EXPECT_FLOAT_EQ(read.level, 0.9f);
}

TEST(Text, OfASecondImageIsItsOwn) {
  const auto letters = Characters::create(kLetters, 4);
  std::vector<float> values = steps({1, 1}, 4);
  const std::vector<float> second = steps({2, 3}, 4);
  values.insert(values.end(), second.begin(), second.end());
  EXPECT_EQ(read_text(view_of(values, {2, 2, 4}), 1, *letters, Activation::kNone).text,
            "B\xc3\xa4");
}

TEST(Text, OfLogitsHasTheLevelOfASoftmax) {
  const auto letters = Characters::create(kLetters, 4);
  const std::vector<float> values{0, 2, 0, 0};
  const ReadText read = read_text(view_of(values, {1, 1, 4}), 0, *letters, Activation::kSoftmax);
  EXPECT_EQ(read.text, "A");
  EXPECT_NEAR(read.level, std::exp(2.0) / (std::exp(2.0) + 3), 1e-6);
}

TEST(Text, OfBlanksIsEmpty) {
  const auto letters = Characters::create(kLetters, 4);
  const std::vector<float> values = steps({0, 0}, 4);
  const ReadText read = read_text(view_of(values, {1, 2, 4}), 0, *letters, Activation::kNone);
  EXPECT_EQ(read.text, "");
  EXPECT_EQ(read.level, 0);
}

TEST(Text, HasASpaceAfterTheDictionary) {
  const auto letters = Characters::create(kLetters, 5);
  ASSERT_TRUE(letters);
  EXPECT_EQ((*letters)[4], " ");
  const auto wrong = Characters::create(kLetters, 7);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("6 characters"), std::string::npos)
      << wrong.error().message();
}

}  // namespace
}  // namespace keepbox
