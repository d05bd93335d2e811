// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams that join, leave, flush and fail at random while others use the same model.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "tests/gst/infer/batched.h"
#include "tests/gst/infer/shaded.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::kSmallFrame;
using test::shaded;

using Random = std::mt19937;

/// One stream's element: its frames have the shade of their number, which the model returns.
class Life {
 public:
  Life(const std::string& line, unsigned tiles, Random& random)
      : random_(random), tiles_(tiles), h_(line, kSmallFrame) {}

  /// Pushes some frames, with a flush or a failure among them. Returns the frames that came out.
  int live() {
    const int frames = 1 + int(random_() % 12);
    const bool flushes = random_() % 3 == 0, fails = random_() % 8 == 0;
    std::jthread flusher;
    if (flushes) flusher = std::jthread([this, wait = random_() % 3000] { flush(wait); });
    for (int i = 0; i < frames; ++i) push(int(random_() % 250));
    if (flusher.joinable()) flusher.join();
    EXPECT_EQ(h_.error(), "");
    if (fails) fail();
    return right_;
  }
  bool wrong() const { return wrong_; }

 private:
  void push(int shade) {
    const std::lock_guard guard(pushing_);
    const Buffer out = h_.run(shaded(shade));
    if (!out) return;  // flushed
    const auto tensor = test::tensor_of(out);
    EXPECT_EQ(tensor.dims[0], tiles_);
    for (const size_t at : {size_t{0}, tensor.values.size() / 2, tensor.values.size() - 1})
      wrong_ = wrong_ || tensor.values[at] != static_cast<float>(shade);
    ++right_;
  }

  void flush(gulong wait) {
    g_usleep(wait);
    gst_harness_push_event(h_.get(), gst_event_new_flush_start());
    const std::lock_guard guard(pushing_);
    gst_harness_push_event(h_.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h_.get(), gst_event_new_segment(&segment));
  }

  /// Pushes a frame that is shorter than its caps.
  void fail() {
    EXPECT_FALSE(h_.run(gst_buffer_new_allocate(nullptr, 100, nullptr)));
    EXPECT_NE(h_.error(), "");
  }

  Random& random_;
  const unsigned tiles_;
  Harness h_;
  std::mutex pushing_;
  int right_ = 0;
  bool wrong_ = false;
};

class InferStress : public test::Inference, public testing::WithParamInterface<unsigned> {};

/// Every stream gets its own frames' tensors, none waits forever, and no error reaches another one.
TEST_P(InferStress, KeepsStreamsApart) {
  constexpr unsigned kThreads = 5, kLives = 12;
  const std::string line = infer(test::identity_model({"n", 3, 48, 64}),
                                 "input-mean=0 input-std=1 channel-order=rgb "
                                 "resize-mode=stretch batch-size=4 ");
  const std::pair<const char*, unsigned> grids[] = {
      {"", 1}, {"", 1}, {"tiles=2x1", 2}, {"tiles=3x2", 6}};
  std::atomic<int> frames = 0;
  std::atomic<bool> wrong = false;
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        Random random(100 * GetParam() + thread);
        for (unsigned i = 0; i < kLives; ++i) {
          const auto& [grid, tiles] = grids[random() % std::size(grids)];
          const char* const timeout = random() % 2 == 0 ? "" : "batch-timeout=1 ";
          Life life(line + timeout + grid, tiles, random);
          frames += life.live();
          wrong = wrong || life.wrong();
        }
      });
  }
  EXPECT_FALSE(wrong);
  EXPECT_GT(frames, int(kThreads * kLives));
}

INSTANTIATE_TEST_SUITE_P(Seed, InferStress, testing::Range(1u, 5u));

}  // namespace
}  // namespace keepbox
