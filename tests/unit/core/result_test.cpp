// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors that leave a function by KB_TRY and KB_ASSIGN.
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace keepbox {
namespace {

Result<std::unique_ptr<int>> owned(int value) {
  if (value < 0) return fail(ErrorKind::kInvalid, "a value of 0 or more", std::to_string(value));
  return std::make_unique<int>(value);
}

template <class A, class B>
Result<std::pair<A, B>> pair_of(A a, B b) {
  return std::pair(a, b);
}

Result<int> sum(int a, int b) {
  KB_ASSIGN(const auto first, owned(a));
  KB_ASSIGN(auto second, owned(b));
  *second += *first;
  KB_ASSIGN(const auto both, pair_of<int, int>(*first, *second));
  return both.second;
}

Status check(int value) {
  KB_TRY(owned(value).transform([](const auto&) {}));
  return {};
}

TEST(Result, IsAssignedOrReturned) {
  EXPECT_EQ(sum(2, 3), 5);
  ASSERT_FALSE(sum(-1, -2));
  EXPECT_EQ(sum(-1, -2).error().found, "-1");
  EXPECT_EQ(sum(1, -2).error().found, "-2");
  EXPECT_TRUE(check(0));
  EXPECT_EQ(check(-3).error().message(), "expected a value of 0 or more, found -3");
}

TEST(Error, IsAStatementOrAComparison) {
  Error error = problem(ErrorKind::kInvalid, "iou-threshold=0.3 has no effect: NMS is off",
                        "set nms-method=greedy to apply it");
  EXPECT_EQ(error.message(),
            "iou-threshold=0.3 has no effect: NMS is off. Set nms-method=greedy to apply it.");
  error.place = "file:7";
  error.hint.clear();
  EXPECT_EQ(error.message(), "file:7: iou-threshold=0.3 has no effect: NMS is off");
  const Status failed = reject(ErrorKind::kInvalid, "A", "/x is one");
  EXPECT_EQ(failed.error().message(), "A. /x is one.");
  EXPECT_EQ((Error{ErrorKind::kInvalid, "1 of A", "2 of B", "set c="}.message()),
            "expected 1 of A, found 2 of B: set c=");
  EXPECT_EQ(problem(ErrorKind::kInvalid, "The library failed.", "set c=").message(),
            "The library failed. Set c=.");
}

TEST(Error, TakesWordsAndPlacesOfItsCallers) {
  Error comparison{ErrorKind::kInvalid, "1 of A", "2 of B"};
  EXPECT_EQ(comparison.add("in C").put_in("line 7").put_in("file").message(),
            "file: line 7: expected 1 of A in C, found 2 of B");
  EXPECT_EQ(problem(ErrorKind::kInvalid, "A is wrong").add("for B").message(), "A is wrong for B");
  EXPECT_EQ(placed(check(-3), "here").error().place, "here");
  EXPECT_TRUE(placed(check(0), "here"));
}

}  // namespace
}  // namespace keepbox
