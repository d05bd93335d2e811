// SPDX-License-Identifier: LGPL-2.1-or-later
// The C functions of suppression, and the text of errors.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decode/error.h"
#include "decode/keepbox-decode.h"

namespace keepbox {
namespace {

/// Two boxes that overlap, and one that does not.
struct ThreeBoxes {
  std::vector<float> boxes{0, 0, 10, 10, 1, 0, 11, 10, 50, 50, 60, 60}, scores{0.8f, 0.9f, 0.7f};
  std::vector<int64_t> classes{0, 1, 0}, indices = std::vector<int64_t>(3, -1);
  std::vector<uint32_t> counts = std::vector<uint32_t>(2, 77);

  KeepboxNmsProblems problems() {
    KeepboxNmsProblems out = KEEPBOX_NMS_INIT;
    out.boxes = boxes.data();
    out.scores = scores.data();
    out.n_boxes = 3;
    out.indices = indices.data();
    out.counts = counts.data();
    return out;
  }
};

struct Freed {
  void operator()(KeepboxNms* nms) const { keepbox_nms_free(nms); }
};
using Nms = std::unique_ptr<KeepboxNms, Freed>;

TEST(KeepboxNms, KeepsTheBestOfOverlappingBoxes) {
  KeepboxDecodeError error;
  ThreeBoxes three;
  const KeepboxNmsProblems problems = three.problems();
  ASSERT_EQ(keepbox_nms(nullptr, &problems, &error), KEEPBOX_DECODE_OK) << error.message;
  EXPECT_EQ(error.status, KEEPBOX_DECODE_OK);
  EXPECT_STREQ(error.message, "");
  EXPECT_EQ(three.counts, (std::vector<uint32_t>{2, 77}));
  EXPECT_EQ(three.indices, (std::vector<int64_t>{1, 2, -1}));
}

TEST(KeepboxNms, TakesOptions) {
  KeepboxDecodeError error;
  ThreeBoxes three;
  const KeepboxNmsProblems problems = three.problems();
  for (const auto& [options, want] : std::vector<std::pair<const char*, std::vector<int64_t>>>{
           {"iou-threshold=0.9", {1, 0, 2}},
           {"iou-threshold=0.9 score-threshold=0.75", {1, 0}},
           {"max-detections=1 backend=reference", {1}},
           {"nms-method=none nms-contract=numpy", {1, 0, 2}}}) {
    const Nms nms(keepbox_nms_new(options, &error));
    ASSERT_NE(nms, nullptr) << error.message;
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(keepbox_nms_run(nms.get(), &problems, &error), KEEPBOX_DECODE_OK) << error.message;
      three.indices.resize(three.counts[0]);
      EXPECT_EQ(three.indices, want) << options;
      three.indices.resize(3);
    }
  }
}

TEST(KeepboxNms, HasClassesProblemsAndOrientedBoxes) {
  const Nms nms(keepbox_nms_new("", nullptr));
  ASSERT_NE(nms, nullptr);
  ThreeBoxes three;
  KeepboxNmsProblems problems = three.problems();
  problems.classes = three.classes.data();
  ASSERT_EQ(keepbox_nms_run(nms.get(), &problems, nullptr), KEEPBOX_DECODE_OK);
  EXPECT_EQ(three.indices, (std::vector<int64_t>{1, 0, 2}));
  problems.classes = nullptr;
  const uint32_t starts[] = {0, 1};
  problems.starts = starts;
  problems.n_problems = 2;
  ASSERT_EQ(keepbox_nms_run(nms.get(), &problems, nullptr), KEEPBOX_DECODE_OK);
  EXPECT_EQ(three.indices, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(three.counts, (std::vector<uint32_t>{1, 2}));
  problems = three.problems();
  three.boxes = {5, 5, 10, 10, 0, 5, 5, 10, 10, 3.14159274f, 55, 55, 10, 10, 1};
  problems.boxes = three.boxes.data();
  problems.oriented = 1;
  ASSERT_EQ(keepbox_nms_run(nms.get(), &problems, nullptr), KEEPBOX_DECODE_OK);
  EXPECT_EQ(three.counts[0], 2u);
  EXPECT_EQ(three.indices[0], 1);
}

TEST(KeepboxNms, StatesWhatIsWrong) {
  KeepboxDecodeError error;
  EXPECT_EQ(keepbox_nms_new("iou-threshold=2", &error), nullptr);
  EXPECT_EQ(error.status, KEEPBOX_DECODE_INVALID);
  EXPECT_NE(std::strstr(error.message, "iou-threshold"), nullptr) << error.message;
  EXPECT_EQ(keepbox_nms_new("nms-contract=nothing", nullptr), nullptr);
  const Nms nms(keepbox_nms_new("", &error));
  ASSERT_NE(nms, nullptr);
  ThreeBoxes three;
  const auto status = [&](auto change) {
    KeepboxNmsProblems problems = three.problems();
    change(problems);
    const KeepboxDecodeStatus out = keepbox_nms_run(nms.get(), &problems, &error);
    EXPECT_EQ(out, error.status);
    EXPECT_EQ(keepbox_nms_run(nms.get(), &problems, nullptr), out);
    return out;
  };
  EXPECT_EQ(status([](auto& p) { p.size = 0; }), KEEPBOX_DECODE_INVALID);
  EXPECT_STREQ(error.message,
               "There are no problems, or their struct has no size. Initialise it with "
               "KEEPBOX_NMS_INIT.");
  EXPECT_EQ(status([](auto& p) { p.boxes = nullptr; }), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(status([](auto& p) { p.scores = nullptr; }), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(status([](auto& p) { p.indices = nullptr; }), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(status([](auto& p) { p.counts = nullptr; }), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(status([](auto& p) { std::memset(&p.memory, 7, sizeof p.memory); }),
            KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(status([](auto& p) { p.counts_memory = KEEPBOX_DECODE_CUDA; }), KEEPBOX_DECODE_INVALID);
  const int64_t classes[] = {0, 4000, 0};
  EXPECT_EQ(status([&](auto& p) { p.classes = classes; }), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(keepbox_nms_run(nms.get(), nullptr, &error), KEEPBOX_DECODE_INVALID);
  const KeepboxNmsProblems problems = three.problems();
  EXPECT_EQ(keepbox_nms_run(nullptr, &problems, &error), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(keepbox_nms("iou-threshold=2", &problems, &error), KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(three.indices, (std::vector<int64_t>{-1, -1, -1})) << "nothing was written";
  keepbox_nms_free(nullptr);
}

TEST(DecodeError, KeepsWholeCharacters) {
  const std::string long_text = [] {
    std::string out;
    for (int i = 0; i < 700; ++i) out += "ä";
    return out;
  }();
  for (size_t shift = 0; shift < 4; ++shift) {
    KeepboxDecodeError error;
    std::memset(&error, 0x5a, sizeof error);
    const std::string text = std::string(shift, 'x') + long_text;
    EXPECT_EQ(report(problem(ErrorKind::kMismatch, text), &error), KEEPBOX_DECODE_MISMATCH);
    std::string got = error.message;
    ASSERT_TRUE(got.ends_with("...")) << shift;
    EXPECT_GT(got.size(), 1015u);
    EXPECT_LT(got.size(), sizeof error.message);
    got.resize(got.size() - 3);
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_EQ((got.size() - shift) % 2, 0u) << "a character is cut";
  }
}

TEST(DecodeError, HasAStatusOfEveryKind) {
  KeepboxDecodeError error;
  for (const auto& [kind, status] :
       {std::pair(ErrorKind::kMismatch, KEEPBOX_DECODE_MISMATCH),
        std::pair(ErrorKind::kAmbiguous, KEEPBOX_DECODE_MISMATCH),
        std::pair(ErrorKind::kUnsupported, KEEPBOX_DECODE_UNSUPPORTED),
        std::pair(ErrorKind::kInvalid, KEEPBOX_DECODE_INVALID),
        std::pair(ErrorKind::kTruncated, KEEPBOX_DECODE_TRUNCATED),
        std::pair(ErrorKind::kNoResource, KEEPBOX_DECODE_NO_RESOURCE)}) {
    EXPECT_EQ(report(problem(kind, "It is so", "do this"), &error), status);
    EXPECT_EQ(report(problem(kind, "It is so"), nullptr), status);
    EXPECT_STREQ(error.message, "It is so. Do this.");
  }
  EXPECT_EQ(report(Status(), &error), KEEPBOX_DECODE_OK);
  EXPECT_STREQ(error.message, "");
}

}  // namespace
}  // namespace keepbox
