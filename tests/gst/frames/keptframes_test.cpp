// SPDX-License-Identifier: LGPL-2.1-or-later
// The number of frames that framesave keeps, and waits for room.
#include "gst/frames/keptframes.h"

#include <atomic>
#include <future>
#include <thread>

#include "tests/gst/frames/restore.h"
#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::Line;

constexpr int kKept = 40;
constexpr int kBytes = 192 * 108 * 3;  // per frame

/// A line whose sink waits for the first frame, with a queue for all others between the pair.
class Waiting {
 public:
  explicit Waiting(const char* limit)
      : line_("videotestsrc num-buffers=" + std::to_string(kKept) +
              " ! video/x-raw,format=RGB,width=192,height=108,framerate=30/1 ! framesave name=save"
              " ! videoconvertscale ! video/x-raw,width=16,height=16 ! queue max-size-time=0"
              " ! framerestore ! fakesink name=out") {
    g_autoptr(GstElement) save = gst_bin_get_by_name(GST_BIN(line_.pipeline()), "save");
    gst_util_set_object_arg(G_OBJECT(save), "max-size-bytes", limit);
    line_.probe("save", "src", [this](GstBuffer*&) { return ++saved_ > 0; });
    line_.pause();
  }

  /// Returns the number of saved frames, except the one that the sink has.
  int kept() {
    for (int last = -1; last != saved_;) {
      last = saved_;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    return saved_ - 1;
  }

  Line& line() { return line_; }

 private:
  std::atomic<int> saved_ = 0;
  Line line_;
};

TEST(FrameSave, KeepsAtMostTheLimit) {
  Waiting some(std::to_string(6 * kBytes + 100).c_str());
  EXPECT_EQ(some.kept(), 6);
  EXPECT_EQ(some.line().play(), "");
  EXPECT_EQ(some.line().seen().size(), size_t{kKept});
  EXPECT_TRUE(some.line().warnings().empty()) << "frames wait for others, not for the time";
  EXPECT_EQ(Waiting("1").kept(), int(KeptFrames::kMinFrames)) << "whatever their size";
  EXPECT_EQ(Waiting("0").kept(), kKept - 1) << "without a limit";
}

TEST(FrameSave, SeeksAndTakesANewLimitWhileItWaits) {
  Waiting waiting("1");
  EXPECT_EQ(waiting.kept(), 4);
  g_autoptr(GstElement) save = gst_bin_get_by_name(GST_BIN(waiting.line().pipeline()), "save");
  gst_util_set_object_arg(G_OBJECT(save), "max-size-bytes", std::to_string(8 * kBytes).c_str());
  EXPECT_EQ(waiting.kept(), 8);
  waiting.line().seek(1, GST_SEEK_FLAG_ACCURATE, GST_SECOND / 2);
  EXPECT_EQ(waiting.line().play(), "");
  ASSERT_FALSE(waiting.line().seen().empty());
  EXPECT_EQ(waiting.line().seen()[0].time, gint64(GST_SECOND / 2));
}

TEST(KeptFrames, CountsAFrameUntilReleased) {
  auto frames = std::make_shared<KeptFrames>(std::chrono::milliseconds(1));
  frames->set_limit(100);
  std::atomic<int> late = 0;
  const auto keep = [&] {
    return frames->keep(30, [&](bool) {
      ++late;
      return false;
    });
  };
  auto first = keep(), second = keep(), third = keep(), fourth = keep(), shared = first;
  auto fifth = std::async(std::launch::async, keep);
  first.reset();
  EXPECT_EQ(fifth.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout)
      << "somebody else has that one";
  second.reset();
  EXPECT_EQ(fifth.wait_for(std::chrono::milliseconds(100)), std::future_status::ready)
      << "three of any size are few";
  EXPECT_NE(fifth.get(), nullptr);
  EXPECT_EQ(frames->limit(), 100u);
  second = keep();
  auto sixth = std::async(std::launch::async, keep);
  EXPECT_EQ(sixth.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_GT(late, 0);
  frames->set_stopped(true);
  EXPECT_EQ(sixth.get(), nullptr);
  const std::weak_ptr<KeptFrames> alive = std::exchange(frames, nullptr);
  EXPECT_FALSE(alive.expired()) << "a place is left";
}

TEST(KeptFrames, RaisesTheLimitIfNoneComesBack) {
  auto frames = std::make_shared<KeptFrames>(std::chrono::milliseconds(1));
  frames->set_limit(180);
  int late = 0, first_times = 0;
  std::vector<std::shared_ptr<const void>> kept;
  const auto keep = [&](int count) {
    late = 0;
    const auto tell = [&](bool first) {
      first_times += first;
      return ++late > 0;
    };
    for (int i = 0; i < count; ++i) kept.push_back(frames->keep(30, tell));
    return late;
  };
  EXPECT_EQ(keep(6), 0);
  EXPECT_EQ(keep(6), 1) << "as many bytes again";
  EXPECT_EQ(keep(1), 1);
  EXPECT_EQ(first_times, 1);
  kept.clear();
  EXPECT_EQ(keep(13), 0) << "what it took once";
  kept.clear();
  frames->start();
  EXPECT_EQ(keep(7), 1);
  EXPECT_EQ(first_times, 2);
  kept.clear();
  frames->set_limit(30);
  EXPECT_EQ(keep(4), 0);
  EXPECT_EQ(keep(4), 1) << "as many as pass whatever their size";
  EXPECT_EQ(first_times, 3);
}

constexpr const char* kSaved =
    "videotestsrc num-buffers=20 ! video/x-raw,format=RGB,width=192,height=108,framerate=30/1"
    " ! framesave name=save max-size-bytes=";
constexpr const char* kToSmall = " ! videoconvertscale ! video/x-raw,width=16,height=16 ! ";

/// A line that keeps the frames which framesave let through, and counts them.
struct Holding {
  Holding() : line(kSaved + ("1" + std::string(kToSmall)) + "framerestore ! fakesink name=out") {
    line.probe("save", "src", [this](GstBuffer*& buffer) {
      held.emplace_back(gst_buffer_ref(buffer));
      return ++saved > 0;
    });
  }

  std::vector<test::Buffer> held;
  std::atomic<int> saved = 0;
  Line line;
};

/// In preroll, a branch may need more frames than are let through before it returns any; a paused
/// pipeline returns none.
TEST(FrameSave, WarnsAndContinuesIfNoFrameComesBack) {
  const std::string queue = "queue max-size-buffers=0 max-size-bytes=0 max-size-time=0";
  Waiting paused("1");
  Holding playing;
  gst_element_set_state(playing.line.pipeline(), GST_STATE_PLAYING);
  EXPECT_EQ(paused.kept(), int(KeptFrames::kMinFrames));
  Line line(kSaved + std::to_string(6 * kBytes) + kToSmall + "tee name=t ! " + queue +
            " ! framerestore ! fakesink name=out t. ! " + queue +
            " min-threshold-buffers=10 ! fakesink");
  EXPECT_EQ(line.play(), "");
  EXPECT_EQ(line.seen().size(), 20u);
  ASSERT_EQ(line.warnings().size(), 1u);
  test::expect_words(line.warnings()[0], {"framerestore", "raise max-size-bytes="});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_GT(playing.saved, int(KeptFrames::kMinFrames));
  EXPECT_EQ(paused.kept(), int(KeptFrames::kMinFrames)) << "nothing is late";
}

TEST(FrameSave, StopsWhileWaitingForAHeldFrame) {
  Holding holding;
  gst_element_set_state(holding.line.pipeline(), GST_STATE_PLAYING);
  for (int tries = 0; holding.saved < 4 && tries < 100; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ASSERT_EQ(holding.saved, 4);
  auto stop = std::async(std::launch::async,
                         [&] { gst_element_set_state(holding.line.pipeline(), GST_STATE_NULL); });
  EXPECT_EQ(stop.wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST(FrameSave, EndsTheWaitAtTheStartOfAFlush) {
  test::Harness h("framesave", test::kFull);
  h.set("max-size-bytes", guint64{1});
  const auto push = [&] { return gst_harness_push(h.get(), test::full_frame()); };
  for (size_t i = 0; i < KeptFrames::kMinFrames; ++i) ASSERT_EQ(push(), GST_FLOW_OK);
  auto waiting = std::async(std::launch::async, push);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(waiting.get(), GST_FLOW_FLUSHING);
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(FALSE));
  while (gst_harness_buffers_in_queue(h.get()) > 0) gst_buffer_unref(gst_harness_pull(h.get()));
  EXPECT_EQ(push(), GST_FLOW_OK) << "the segment stays the same";
}

}  // namespace
}  // namespace keepbox
