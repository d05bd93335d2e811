// SPDX-License-Identifier: LGPL-2.1-or-later
// Ids downstream of boxtrack: in files of boxsink, and after other elements.
#include <gst/analytics/analytics.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "tests/gst/recording/numbered.h"
#include "tests/gst/track/boxtrack.h"
#include "tests/tempdir.h"

namespace keepbox::test {
namespace {

using Counts = std::map<std::pair<int, int>, int>;  // rows by frame and id

void add_id(GstBuffer* buffer, guint od_id) {
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, 7, 0, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, track.id);
}

/// Returns the rows of a file of MOTChallenge that a line writes. All frames have two boxes that
/// start no track, those from the third one on another one.
/// @param others true if another tracker gave that box an id.
Counts rows_behind(const std::string& tracker, bool others = false) {
  const TempDir folder;
  Line line(
      "videotestsrc num-buffers=6 ! video/x-raw,format=GRAY8,width=640,height=480 "
      "! identity name=mark ! " +
      tracker + "queue ! boxsink name=out format=mot location=" + folder / "mot.txt");
  line.probe("mark", "src", [others, number = 0](GstBuffer*& buffer) mutable {
    buffer = gst_buffer_make_writable(buffer);
    std::vector<FrameBox> list{at(10, 100, 0.65f), at(200, 100, 0.65f)};
    if (number++ >= 2) list.push_back(at(400));
    attach_boxes(buffer, list, {.frame = {640, 480}});
    if (others && list.size() > 2) add_id(buffer, list[2].od_id);
    return true;
  });
  EXPECT_EQ(line.play(), "");
  std::ifstream file(folder / "mot.txt");
  Counts out;
  for (std::string row; std::getline(file, row);) {
    std::istringstream words(row);
    int frame = 0, id = 0;
    char comma = 0;
    EXPECT_TRUE(words >> frame >> comma >> id) << row;
    ++out[{frame, id}];
  }
  return out;
}

TEST(TrackFiles, HaveEachIdOnceOnAFrame) {
  EXPECT_EQ(rows_behind("boxtrack ! "), (Counts{{{4, 1}, 1}, {{5, 1}, 1}, {{6, 1}, 1}}));
}

TEST(TrackFiles, HaveAllBoxesWithoutATracker) {
  EXPECT_EQ(
      rows_behind(""),
      (Counts{{{1, -1}, 2}, {{2, -1}, 2}, {{3, -1}, 3}, {{4, -1}, 3}, {{5, -1}, 3}, {{6, -1}, 3}}));
}

TEST(TrackFiles, HaveOnlyIdsFromTheFirstOneOfAnotherTracker) {
  EXPECT_EQ(
      rows_behind("", true),
      (Counts{{{1, -1}, 2}, {{2, -1}, 2}, {{3, 7}, 1}, {{4, 7}, 1}, {{5, 7}, 1}, {{6, 7}, 1}}));
}

TEST(Boxtrack, GivesIdsThatAScalerKeeps) {
  Harness h("boxtrack ! videoscale add-borders=false ! video/x-raw,width=320,height=240 ! identity",
            kTrackCaps);
  for (guint i = 0; i < 5; ++i) {
    Buffer in(gst_buffer_new_allocate(nullptr, 640 * 480 * 3, nullptr));
    GST_BUFFER_PTS(in.get()) = i * kStep;
    FrameBox list[] = {at(10), at(300)};
    attach_boxes(in.get(), list, {.frame = {640, 480}});
    const Buffer out = h.run(in.release());
    ASSERT_TRUE(out) << h.error();
    const auto found = boxes(out);
    EXPECT_EQ(ids(found), (IdList{1, 2}));
    EXPECT_EQ(found[1].box, (Box{150, 50, 180, 110}));
  }
}

}  // namespace
}  // namespace keepbox::test
