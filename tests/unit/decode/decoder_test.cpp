// SPDX-License-Identifier: LGPL-2.1-or-later
// State of a decoder after the end of a stream.
#include "gst/decode/decoder.h"

#include <gtest/gtest.h>

#include "tests/gst/frames.h"

namespace keepbox {
namespace {

TEST(Decoder, StopDropsThePlan) {
  g_autoptr(GstElement) element = GST_ELEMENT(gst_object_ref_sink(gst_bin_new(nullptr)));
  const std::atomic<bool> stop = false;
  Decoder decoder(element, &stop);
  decoder.set_picture({.size = {640, 640}});
  ASSERT_TRUE(decoder.start());
  const test::Buffer frame(test::frame_with({{10, 20, 110, 220, 0.9f, 2}}));
  const Status done = decoder.decode(frame.get());
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_NE(decoder.processor(), nullptr);
  decoder.stop();
  EXPECT_EQ(decoder.processor(), nullptr);
}

}  // namespace
}  // namespace keepbox
