// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack in pipelines with seeks and reverse playback.
#include <gst/analytics/analytics.h>

#include <map>

#include "tests/gst/metas/parts.h"
#include "tests/gst/recording/numbered.h"

namespace keepbox {
namespace {

using test::attach;
using test::boxes;
using test::Buffer;
using test::Line;
using test::plain_box;

/// A pipeline with two objects that move so fast that only a filter that knows their speed matches
/// them; the place of each is known from the time of a frame.
struct Moving : Line {
  Moving()
      : Line(
            "videotestsrc ! video/x-raw,format=GRAY8,width=1920,height=240,framerate=30/1"
            " ! identity name=mark ! boxtrack ! identity name=seen ! fakesink name=out") {
    probe("mark", "src", [](GstBuffer*& buffer) {
      buffer = gst_buffer_make_writable(buffer);
      const float x = 22.0f * static_cast<float>(test::frame_at(GST_BUFFER_PTS(buffer)));
      FrameBox list[] = {plain_box({x, 20, x + 40, 80}, 0.9f),
                         plain_box({1800 - x, 120, 1840 - x, 200}, 0.9f)};
      attach(buffer, list, {.frame = {1920, 240}});
      return true;
    });
    probe("seen", "src", [this](GstBuffer*& buffer) {
      const auto found = boxes(Buffer(gst_buffer_ref(buffer)));
      for (size_t i = 0; i < found.size(); ++i) ++ids[i][found[i].tracking_id.value_or(0)];
      return true;
    });
    pause();
  }

  /// Plays a part. Each object has to have one id in it, one that was not used before.
  void expect_new_ids(double rate, gint64 start, gint64 stop) {
    ids.clear();
    seek(rate, GST_SEEK_FLAG_ACCURATE, start, stop);
    EXPECT_EQ(play(), "");
    ASSERT_EQ(ids.size(), 2u);
    for (const auto& [object, found] : ids) {
      EXPECT_EQ(found.size(), 1u) << "object " << object << " from " << start;
      EXPECT_EQ(found.begin()->first, last + 1 + object) << "from " << start;
      EXPECT_GE(found.begin()->second, test::frame_at(stop - start));
    }
    last += 2;
    pause();
  }

  std::map<size_t, std::map<guint64, int>> ids;  // by object: id, and on how many frames it has it
  guint64 last = 2;                              // id; the first frame has two
};

TEST(TrackSeek, SeeksEndTracks) {
  Moving line;
  for (const int part : {0, 3, 1, 1, 2}) {
    const gint64 start = part * GST_SECOND / 2;
    line.expect_new_ids(1, start, start + GST_SECOND);
  }
}

TEST(TrackSeek, FollowsBackwards) {
  Moving line;
  line.expect_new_ids(-1, GST_SECOND, 2 * GST_SECOND);
  line.expect_new_ids(1, 0, GST_SECOND);
  line.expect_new_ids(-1, 0, GST_SECOND);
}

}  // namespace
}  // namespace keepbox
