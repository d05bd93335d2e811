// SPDX-License-Identifier: LGPL-2.1-or-later
// How many frames framesave keeps, and what waits for room.
#include "gst/frames/keptframes.h"

#include <atomic>
#include <future>
#include <thread>

#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::Line;

constexpr int kKept = 40;
constexpr int kBytes = 192 * 108 * 3;  // of a frame

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

  /// Of the frames that were saved all but the one that the sink has.
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

TEST(FrameSave, KeepsNoMoreBytesThanTold) {
  Waiting some(std::to_string(6 * kBytes + 100).c_str());
  EXPECT_EQ(some.kept(), 6);
  EXPECT_EQ(some.line().play(), "");
  EXPECT_EQ(some.line().seen().size(), size_t{kKept});
  EXPECT_EQ(Waiting("1").kept(), int(KeptFrames::kLeast)) << "whatever their size";
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

TEST(KeptFrames, CountsAFrameUntilNobodyHasIt) {
  auto frames = std::make_shared<KeptFrames>(std::chrono::milliseconds(1));
  frames->set_limit(100);
  std::atomic<int> late = 0;
  const auto keep = [&] { return frames->keep(30, [&] { ++late; }); };
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

}  // namespace
}  // namespace keepbox
