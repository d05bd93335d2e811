// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps of batches in a GStreamer that has none, so in a program without batchmeta.cpp.
#include <gtest/gtest.h>

#include <string>

#include "tests/gst/streambatches.h"

namespace keepbox {
namespace {

TEST(StreamBatchesBefore128, AreNotInTheTemplates) {
  if (test::has_stream_batches()) GTEST_SKIP() << "GStreamer has batches";
  for (const char* name : {"tensorinfer", "boxdecode"}) {
    g_autoptr(GstElement) element = gst_element_factory_make(name, nullptr);
    g_autoptr(GstPad) sink = gst_element_get_static_pad(element, "sink");
    g_autoptr(GstCaps) caps = gst_pad_query_caps(sink, nullptr);
    g_autofree gchar* text = gst_caps_to_string(caps);
    EXPECT_EQ(std::string(text).find("multistream"), std::string::npos);
  }
}

}  // namespace
}  // namespace keepbox
