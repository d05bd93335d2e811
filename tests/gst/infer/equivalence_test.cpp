// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a frame are the same whichever way it runs: alone, in batches of streams, with
// frames held back, as tiles.
#include <array>
#include <cstdlib>
#include <functional>
#include <span>
#include <thread>

#include "gst/tensors/cudascope.h"
#include "tests/gst/infer/batched.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;
using test::raw;
using test::tensor_of;

constexpr int kStreams = 4, kFrames = 5, kFrameSide = 64;

/// A frame's tensor and boxes.
struct Outcome {
  std::vector<float> values;
  std::vector<FrameBox> boxes;
};
using Outcomes = std::vector<std::vector<Outcome>>;  // by stream and frame

/// Returns the noise of a stream's frame.
test::Paint noise_of(int stream, int frame) {
  return [=](int x, int y) { return test::noise(x + 5 * stream + 1, y + 3 * frame + 2); };
}

Outcome outcome_of(const Buffer& buffer) {
  return {.values = tensor_of(buffer).values, .boxes = test::boxes(buffer)};
}

/// Runs a detector of real convolutions on the CPU, or on a GPU without TF32.
class InferEquivalence : public test::Inference, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Inference::SetUp();
    if (IsSkipped() || !on_gpu()) return;
    const auto runtime = OnnxRuntime::load();
    if (!(*runtime)->has_provider("CUDAExecutionProvider"))
      GTEST_SKIP() << "no ONNX Runtime with CUDA";
    if (cuda_available()) return;
    const char* required = std::getenv("KEEPBOX_REQUIRE");
    if (required != nullptr && std::string(required).contains("cuda")) FAIL() << "no CUDA device";
    GTEST_SKIP() << "no CUDA device";
  }

  bool on_gpu() const { return std::string(GetParam()) == "cuda"; }

  std::string line(const std::string& more) {
    return infer(test::random_detector(), "name=infer provider=" + std::string(GetParam()) +
                                              (on_gpu() ? " provider-options=use_tf32=0 " : " ") +
                                              more) +
           " ! boxdecode";
  }

  static double stat(Harness& h, const char* field) {
    g_autoptr(GstElement) element = gst_bin_get_by_name(h.bin(), "infer");
    return test::stat(element, field);
  }

  /// Runs the streams in one element each, all at the same time.
  Outcomes run_together(const std::string& more) {
    Outcomes out(kStreams);
    std::vector<std::unique_ptr<Harness>> elements;
    std::vector<Harness*> all;
    const std::string text = line(more);
    for (int i = 0; i < kStreams; ++i) {
      elements.push_back(std::make_unique<Harness>(text, caps_));
      all.push_back(elements.back().get());
    }
    test::warm_up(all, {caps_});
    g_autoptr(GstElement) element = gst_bin_get_by_name(all[0]->bin(), "infer");
    const test::BatchesSince counts(element);
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < kStreams; ++i)
        threads.emplace_back([&, i] {
          for (int k = 0; k < kFrames; ++k) {
            const Buffer frame = elements[i]->run(painted(caps_, noise_of(int(i), k)));
            ASSERT_TRUE(frame) << elements[i]->error();
            out[i].push_back(outcome_of(frame));
          }
        });
    }
    fill_ = counts.fill();
    return out;
  }

  /// Runs the frames of all streams one after the other in one element that holds some back.
  Outcomes run_ahead(const std::string& more) {
    Outcomes out(kStreams);
    Harness h(line(more), caps_);
    for (int k = 0; k < kFrames; ++k)
      for (int i = 0; i < kStreams; ++i) gst_harness_push(h.get(), painted(caps_, noise_of(i, k)));
    gst_harness_push_event(h.get(), gst_event_new_eos());
    for (int k = 0; k < kFrames; ++k)
      for (size_t i = 0; i < kStreams; ++i) {
        const Buffer frame(gst_harness_try_pull(h.get()));
        EXPECT_TRUE(frame) << h.error();
        out[i].push_back(outcome_of(frame));
      }
    fill_ = stat(h, "batch-fill");
    return out;
  }

  /// Runs the streams as the four tiles of one. The outcomes have no boxes, which are the frame's.
  Outcomes run_as_tiles(const std::string& more) {
    Outcomes out(kStreams);
    const std::string caps = raw("RGB", 2 * kFrameSide, 2 * kFrameSide);
    Harness h(line("tiles=2x2@0 " + more), caps);
    for (int k = 0; k < kFrames; ++k) {
      const Buffer frame = h.run(painted(caps, [&](int x, int y) {
        return noise_of(y / kFrameSide * 2 + x / kFrameSide, k)(x % kFrameSide, y % kFrameSide);
      }));
      EXPECT_TRUE(frame) << h.error();
      const auto all = tensor_of(frame).values;
      const size_t each = all.size() / kStreams;
      for (size_t i = 0; i < kStreams; ++i)
        out[i].push_back(
            {{all.begin() + ptrdiff_t(i * each), all.begin() + ptrdiff_t((i + 1) * each)}, {}});
    }
    fill_ = stat(h, "batch-fill");
    return out;
  }

  /// @param exact to the last bit; else up to the rounding of another size of batch.
  void expect_same(const Outcomes& got, const Outcomes& want, bool exact) const {
    for (size_t i = 0; i < kStreams; ++i)
      for (size_t k = 0; k < kFrames; ++k) {
        SCOPED_TRACE("stream " + std::to_string(i) + " frame " + std::to_string(k));
        const Outcome &one = got[i].at(k), &other = want[i].at(k);
        expect_near(one.values, other.values, exact);
        if (one.boxes.empty()) continue;  // of tiles
        ASSERT_EQ(one.boxes.size(), other.boxes.size());
        for (size_t b = 0; b < one.boxes.size(); ++b) {
          const auto numbers = [](const FrameBox& of) {
            return std::vector<float>{of.box.x1, of.box.y1, of.box.x2, of.box.y2, of.score};
          };
          ASSERT_EQ(one.boxes[b].label, other.boxes[b].label);
          expect_near(numbers(one.boxes[b]), numbers(other.boxes[b]), exact);
        }
      }
  }
  static void expect_near(std::span<const float> got, std::span<const float> want, bool exact) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const float most = exact ? 0 : 1e-4f * std::max(1.0f, std::abs(want[i]));
      ASSERT_NEAR(got[i], want[i], most) << i;
    }
  }

  void expect_full() const {
    if (!on_gpu()) {
      EXPECT_EQ(fill_, 4);
    }
  }

  const std::string caps_ = raw("RGB", kFrameSide, kFrameSide);
  double fill_ = 0;
};

/// Sizes of batches on a GPU vary, because they depend on the times at which frames come.
TEST_P(InferEquivalence, BoxesAreThoseOfFramesThatRunAlone) {
  const bool exact = !on_gpu();
  const Outcomes alone = run_ahead("batch-size=1");
  size_t boxes = 0;
  for (const auto& stream : alone)
    for (const Outcome& each : stream) boxes += each.boxes.size();
  EXPECT_GT(boxes, size_t{5} * kStreams * kFrames);
  expect_same(run_together("batch-size=1"), alone, exact);
  expect_same(run_as_tiles("batch-size=1"), alone, exact);

  const std::string four = "batch-size=4 batch-timeout=1000 ";
  const Outcomes batched = run_together(four);
  expect_full();
  expect_same(batched, alone, false);
  expect_same(run_ahead(four + "lookahead=3"), batched, exact);
  expect_full();
  expect_same(run_as_tiles(four), batched, exact);
  expect_full();
}

INSTANTIATE_TEST_SUITE_P(Provider, InferEquivalence, testing::Values("cpu", "cuda"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace keepbox
