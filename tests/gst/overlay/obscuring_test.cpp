// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay: blurred and pixelated objects in a stream.
#include <cmath>
#include <string>
#include <vector>

#include "gst/metas/skippedmodels.h"
#include "tests/gst/overlay/boxoverlay.h"

namespace keepbox::test {
namespace {

class ObscuredObjects : public BoxOverlay {
 protected:
  ObscuredObjects() {
    format("GRAY8", 64, 48);
    for (const char* property : {"draw-boxes", "draw-labels", "draw-scores", "draw-tracking-ids"})
      set(property, FALSE);
    bus_ = gst_bus_new();
    gst_element_set_bus(harness_->element, bus_);
  }
  ~ObscuredObjects() override {
    gst_element_set_bus(harness_->element, nullptr);
    gst_object_unref(bus_);
  }

  /// Makes a frame of stripes, one pixel wide, with a box of a tracked object at x.
  GstBuffer* striped(guint number, std::optional<float> x, guint64 id = 4) const {
    FrameBox box{.box = {x.value_or(0), 10, x.value_or(0) + 20, 40},
                 .score = 0.9f,
                 .label = g_quark_from_string("person")};
    box.tracking_id = id;
    GstBuffer* out = decoded(std::span(&box, x ? 1u : 0u));
    GstMapInfo map;
    gst_buffer_map(out, &map, GST_MAP_WRITE);
    for (gsize i = 0; i < map.size; ++i) map.data[i] = i % 2 == 0 ? 0 : 200;
    gst_buffer_unmap(out, &map);
    GST_BUFFER_PTS(out) = number * 40 * GST_MSECOND;
    return out;
  }
  /// True if the stripes can be seen at that pixel in the middle of the frame.
  bool visible(const std::vector<guint8>& pixels, int x) const {
    const auto at = static_cast<size_t>(25 * GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0) + x);
    return std::abs(pixels[at] - pixels[at + 1]) > 40;
  }
  std::string warning() {
    g_autoptr(GstMessage) found = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING);
    if (found == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    gst_message_parse_warning(found, &error, nullptr);
    return error->message;
  }

  GstBus* bus_;
};

TEST_F(ObscuredObjects, AreBlurredOrPixelatedByClass) {
  EXPECT_TRUE(visible(drawn(striped(0, 20)), 30)) << "by default";
  for (const char* property : {"blur", "pixelate"}) {
    set(property, "person");
    const auto pixels = drawn(striped(1, 20));
    EXPECT_FALSE(visible(pixels, 30));
    EXPECT_TRUE(visible(pixels, 10));
    set(property, "car");
    EXPECT_TRUE(visible(drawn(striped(9999, 20, 5)), 30));
    set(property, static_cast<const char*>(nullptr));
  }
}

TEST_F(ObscuredObjects, StayObscuredOnFramesThatTheModelSkipped) {
  const auto skipped = [&](guint number) {
    GstBuffer* out = striped(number, std::nullopt);
    note_skipped_model(out, 0);  // the model of boxes without a name
    return out;
  };
  set("blur", "person");
  set("blur-lost", 0.0);
  for (const int x : {10, 30, 50})
    EXPECT_FALSE(visible(drawn(skipped(0)), x)) << "not looked at yet";
  EXPECT_FALSE(visible(drawn(striped(1, 20)), 30));
  for (guint number = 2; number < 60; ++number) {
    const auto pixels = drawn(skipped(number));
    EXPECT_FALSE(visible(pixels, 30)) << number;
    EXPECT_TRUE(visible(pixels, 10)) << number;
  }
  EXPECT_TRUE(visible(drawn(striped(60, std::nullopt)), 30)) << "looked at, and gone";
  EXPECT_TRUE(visible(drawn(skipped(61)), 30));
}

TEST_F(ObscuredObjects, DoNotFlashWhenADetectionIsLost) {
  set("blur", "person");
  for (guint number = 0; number < 5; ++number)
    EXPECT_FALSE(
        visible(drawn(striped(number, 2 + 4.0f * static_cast<float>(number))), 12 + 4 * number));
  // The object goes on, and the detector misses it on frames 5 to 7.
  for (guint number = 5; number < 8; ++number) {
    const auto pixels = drawn(striped(number, std::nullopt));
    for (guint x = 2 + 4 * number; x < 22 + 4 * number; ++x)
      EXPECT_FALSE(visible(pixels, x)) << "frame " << number << " at " << x;
  }
  EXPECT_FALSE(visible(drawn(striped(8, 34)), 44));
  EXPECT_FALSE(visible(drawn(striped(20, std::nullopt)), 44)) << "after 480 ms";
  EXPECT_TRUE(visible(drawn(striped(22, std::nullopt)), 44)) << "after 560 ms";
}

TEST_F(ObscuredObjects, FlashWithoutAMemory) {
  set("blur", "person");
  set("blur-lost", 0.0);
  drawn(striped(0, 20));
  EXPECT_TRUE(visible(drawn(striped(1, std::nullopt)), 30));
}

TEST_F(ObscuredObjects, AreBelowBoxesAndLabels) {
  set("blur", "person");
  set("blur-strength", 1.0);
  const auto without = drawn(striped(0, 20));
  set("draw-boxes", TRUE);
  set("color", 0xffffffffu);
  const auto with = drawn(striped(1, 20));
  const auto at = [&](int x) {
    return static_cast<size_t>(25 * GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0) + x);
  };
  EXPECT_EQ(with[at(20)], 255);
  EXPECT_LT(without[at(20)], 200);
  EXPECT_EQ(with[at(30)], without[at(30)]);
}

TEST_F(ObscuredObjects, AreForgottenInAPictureOfAnotherSize) {
  set("blur", "person");
  drawn(striped(0, 20));
  format("GRAY8", 96, 48);
  EXPECT_TRUE(visible(drawn(striped(1, std::nullopt)), 30));
}

TEST_F(ObscuredObjects, LeaveSharedFramesAlone) {
  set("blur", "person");
  drawn(striped(0, 20));
  g_autoptr(GstBuffer) shared = striped(1, std::nullopt);
  g_autoptr(GstBuffer) out = gst_harness_push_and_pull(harness_, gst_buffer_ref(shared));
  EXPECT_TRUE(visible(bytes(shared), 30));
  EXPECT_FALSE(visible(bytes(out), 30)) << "a frame without boxes is drawn on too";
}

TEST_F(ObscuredObjects, AreMissedWithOneWarningIfMisspelt) {
  set("blur", "persn");
  drawn(striped(0, 20));
  gst_harness_push_event(harness_, gst_event_new_eos());
  EXPECT_EQ(
      warning(),
      "blur names \"persn\", but boxes had the classes \"person\". Correct the name if you meant "
      "one of these.");
  EXPECT_EQ(warning(), "");
}

}  // namespace
}  // namespace keepbox::test
