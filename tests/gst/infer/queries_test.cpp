// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers of neighbours that tensorinfer changes.
#include "gst/infer/tensorinfer.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

struct Latency {
  gboolean live;
  GstClockTime min, max;
};

/// Returns the latency that a sink pad answers if its peer has another.
Latency latency_after(Latency upstream, GstClockTime own) {
  GstPad* source = gst_pad_new("source", GST_PAD_SRC);
  GstPad* sink = gst_pad_new("sink", GST_PAD_SINK);
  EXPECT_EQ(gst_pad_link(source, sink), GST_PAD_LINK_OK);
  gst_pad_set_element_private(source, &upstream);
  gst_pad_set_query_function(source, [](GstPad* pad, GstObject*, GstQuery* query) -> gboolean {
    const auto& answer = *static_cast<const Latency*>(gst_pad_get_element_private(pad));
    gst_query_set_latency(query, answer.live, answer.min, answer.max);
    return TRUE;
  });
  GstQuery* query = gst_query_new_latency();
  EXPECT_EQ(add_latency(sink, query, own), upstream.live != FALSE);
  Latency out{};
  gst_query_parse_latency(query, &out.live, &out.min, &out.max);
  gst_query_unref(query);
  gst_pad_unlink(source, sink);
  gst_object_unref(source);
  gst_object_unref(sink);
  return out;
}

TEST(InferQueries, AddLatencyToBothLimits) {
  const Latency limited = latency_after({TRUE, 5, 40}, 100);
  EXPECT_TRUE(limited.live);
  EXPECT_EQ(limited.min, 105u);
  EXPECT_EQ(limited.max, 140u);
  const Latency unlimited = latency_after({FALSE, 5, GST_CLOCK_TIME_NONE}, 100);
  EXPECT_FALSE(unlimited.live);
  EXPECT_EQ(unlimited.min, 105u);
  EXPECT_EQ(unlimited.max, GST_CLOCK_TIME_NONE);
}

TEST(InferQueries, FailWithoutAPeer) {
  GstPad* sink = gst_pad_new("sink", GST_PAD_SINK);
  GstQuery* query = gst_query_new_latency();
  EXPECT_FALSE(add_latency(sink, query, 1).has_value());
  gst_query_unref(query);
  gst_object_unref(sink);
}

TEST(InferQueries, RaisePoolsByTheFramesHeld) {
  GstQuery* query = gst_query_new_allocation(nullptr, TRUE);
  gst_query_add_allocation_pool(query, nullptr, 100, 2, 0);
  gst_query_add_allocation_pool(query, nullptr, 200, 3, 9);
  raise_pools(query, 4);
  guint size = 0, min = 0, max = 0;
  gst_query_parse_nth_allocation_pool(query, 0, nullptr, &size, &min, &max);
  EXPECT_EQ(size, 100u);
  EXPECT_EQ(min, 6u);
  EXPECT_EQ(max, 0u) << "unlimited";
  gst_query_parse_nth_allocation_pool(query, 1, nullptr, &size, &min, &max);
  EXPECT_EQ(size, 200u);
  EXPECT_EQ(min, 7u);
  EXPECT_EQ(max, 13u);
  gst_query_unref(query);
}

}  // namespace
}  // namespace keepbox
