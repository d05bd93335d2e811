// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics as text for Prometheus, and where they go.
#include "gst/statistics/statistics.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace keepbox {
namespace {

/// Replaces the versions, which change, in a text for Prometheus.
std::string with_any_version(const std::string& text) {
  return std::regex_replace(
      text, std::regex(R"re(version="\d+\.\d+\.\d+",gstreamer="GStreamer 1[^"]*")re"), "VERSIONS");
}

/// Names of lines may have any characters.
TEST(StatsText, HasTheNumbersOfEachOfAList) {
  g_autoptr(GstStructure) stats = gst_structure_from_string(
      "boxcount-stats, lines=(structure){ [line, name=(string)\"a \\\"b\\\"\", "
      "in=(guint64)3], [line, name=(string)c, in=(guint64)4] }",
      nullptr);
  ASSERT_NE(stats, nullptr);
  const ElementStats elements[] = {{"p", "count", "boxcount", stats}};
  const std::string text = prometheus_text(elements, "");
  EXPECT_NE(text.find(R"(# TYPE keepbox_boxcount_lines_in_total counter
keepbox_boxcount_lines_in_total{pipeline="p",element="count",name="a \"b\""} 3
keepbox_boxcount_lines_in_total{pipeline="p",element="count",name="c"} 4
)"),
            text.npos)
      << text;
}

TEST(StatsText, HasTheLinesOfAMetricTogether) {
  g_autoptr(GstStructure) one =
      gst_structure_new("boxdecode-stats", "frames", G_TYPE_UINT64, guint64{250},
                        "time-per-frame-us", G_TYPE_DOUBLE, 17.5, "kept", G_TYPE_UINT, 8U,
                        "backend", G_TYPE_STRING, "simd", "detector", G_TYPE_STRING, "", nullptr);
  g_autoptr(GstStructure) two =
      gst_structure_new("boxdecode-stats", "frames", G_TYPE_UINT64, guint64{1} << 40, nullptr);
  g_autoptr(GstStructure) sender =
      gst_structure_new("boxpublish-stats", "connected", G_TYPE_BOOLEAN, TRUE, "queued",
                        G_TYPE_UINT64, guint64{3}, nullptr);
  const ElementStats elements[] = {{"pipeline0", "boxdecode0", "boxdecode", one, 0.25, 7},
                                   {"pipeline0", "boxpublish0", "boxpublish", sender},
                                   {"pipeline1", "boxdecode1", "boxdecode", two}};
  EXPECT_EQ(with_any_version(prometheus_text(elements, "")),
            R"(# HELP keepbox_boxdecode_frames_total Frames processed, skipped ones included
# TYPE keepbox_boxdecode_frames_total counter
keepbox_boxdecode_frames_total{pipeline="pipeline0",element="boxdecode0"} 250
keepbox_boxdecode_frames_total{pipeline="pipeline1",element="boxdecode1"} 1099511627776
# HELP keepbox_boxdecode_info How boxdecode is set up, as labels
# TYPE keepbox_boxdecode_info gauge
keepbox_boxdecode_info{pipeline="pipeline0",element="boxdecode0",backend="simd"} 1
# HELP keepbox_boxdecode_kept Boxes of the last frame that non-maximum suppression kept
# TYPE keepbox_boxdecode_kept gauge
keepbox_boxdecode_kept{pipeline="pipeline0",element="boxdecode0"} 8
# HELP keepbox_boxdecode_time_per_frame_us Mean microseconds of a frame in the element
# TYPE keepbox_boxdecode_time_per_frame_us gauge
keepbox_boxdecode_time_per_frame_us{pipeline="pipeline0",element="boxdecode0"} 17.5
# HELP keepbox_boxpublish_connected 1 while the broker is connected
# TYPE keepbox_boxpublish_connected gauge
keepbox_boxpublish_connected{pipeline="pipeline0",element="boxpublish0"} 1
# HELP keepbox_boxpublish_queued Messages that wait for the broker
# TYPE keepbox_boxpublish_queued gauge
keepbox_boxpublish_queued{pipeline="pipeline0",element="boxpublish0"} 3
# HELP keepbox_build_info Versions of keepbox and GStreamer in the process, as labels
# TYPE keepbox_build_info gauge
keepbox_build_info{VERSIONS} 1
# HELP keepbox_frame_age_seconds Seconds since a frame left the element, or it started
# TYPE keepbox_frame_age_seconds gauge
keepbox_frame_age_seconds{pipeline="pipeline0",element="boxdecode0"} 0.250
keepbox_frame_age_seconds{pipeline="pipeline0",element="boxpublish0"} 0.000
keepbox_frame_age_seconds{pipeline="pipeline1",element="boxdecode1"} 0.000
# HELP keepbox_look_age_seconds Seconds since a frame left the element that the models looked at
# TYPE keepbox_look_age_seconds gauge
keepbox_look_age_seconds{pipeline="pipeline0",element="boxdecode0"} 7.000
keepbox_look_age_seconds{pipeline="pipeline0",element="boxpublish0"} 0.000
keepbox_look_age_seconds{pipeline="pipeline1",element="boxdecode1"} 0.000
)");
}

TEST(StatsText, EscapesLabels) {
  g_autoptr(GstStructure) stats =
      gst_structure_new("boxsink-stats", "why", G_TYPE_STRING, "a \"b\"\nc\\d", nullptr);
  const ElementStats elements[] = {{"p\"", "e", "boxsink", stats}};
  const std::string text = with_any_version(prometheus_text(elements, "front \\1"));
  for (const char* line :
       {"# HELP keepbox_boxsink_info How boxsink is set up, as labels\n"
        "# TYPE keepbox_boxsink_info gauge\n"
        "keepbox_boxsink_info{source=\"front \\\\1\",pipeline=\"p\\\"\",element=\"e\","
        "why=\"a \\\"b\\\"\\nc\\\\d\"} 1\n",
        "\nkeepbox_build_info{source=\"front \\\\1\",VERSIONS} 1\n"})
    EXPECT_TRUE(text.contains(line)) << text;
}

TEST(StatsText, HasAnElementOnce) {
  g_autoptr(GstStructure) stats =
      gst_structure_new("boxsink-stats", "kept", G_TYPE_UINT, 1U, nullptr);
  const ElementStats elements[] = {{"p", "e", "boxsink", stats}, {"p", "e", "boxsink", stats}};
  const std::string text = prometheus_text(elements, "");
  EXPECT_TRUE(text.starts_with(
      "# HELP keepbox_boxsink_kept The statistic kept of boxsink, see gst-inspect-1.0 boxsink\n"
      "# TYPE keepbox_boxsink_kept gauge\n"
      "keepbox_boxsink_kept{pipeline=\"p\",element=\"e\"} 1\n#"))
      << text;
  EXPECT_EQ(prometheus_text({}, "front"), "");
}

TEST(StatsParameters, AreReadFromTheTracer) {
  const auto place = StatsPlace::parse("file=/tmp/a-1.prom,interval=0.5,source=\"front door\"");
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_EQ(place->file, "/tmp/a-1.prom");
  EXPECT_EQ(place->source, "front door");
  EXPECT_EQ(place->interval.count(), 0.5);
  EXPECT_EQ(StatsPlace::parse("file=a.prom")->interval.count(), 10);
}

TEST(StatsParameters, WrongOnesAreReported) {
  for (const char* params : {"", "interval=1", "file=", "=", "front.prom"}) {
    const auto place = StatsPlace::parse(params);
    ASSERT_FALSE(place) << params;
    EXPECT_NE(place.error().message().find("file= is not set"), std::string::npos) << params;
  }
  for (const char* interval : {"0", "-1", "soon", "1e9"}) {
    const auto place = StatsPlace::parse(std::string("file=a,interval=") + interval);
    ASSERT_FALSE(place) << interval;
    EXPECT_NE(place.error().message().find("0.1 to 86,400"), std::string::npos) << interval;
  }
}

}  // namespace
}  // namespace keepbox
