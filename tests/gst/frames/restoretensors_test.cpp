// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors between framesave and framerestore are restored with the frame, and their source is
// mapped.
#include <memory>

#include "tests/gst/frames/restore.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;

/// Attaches rows with their source on the scaled frame: 64 x 64 into 32 x 32 with 8 above.
void infer(GstElement*, GstBuffer* buffer, gpointer) {
  const auto tensor = test::rows({{5, 18, 15, 20, 0.9f, 1}});
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  set_provenance(data, std::make_shared<const TensorProvenance>(
                           TensorProvenance{.geometry = {{64, 64}, {32, 32}, 2, 4, 0, 8},
                                            .model = "small",
                                            .detector = "yolov10",
                                            .units = Units::kPixels,
                                            .labels = {"zero", "one"}}));
  add_tensor(buffer, "", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
}

/// Returns the boxes of a line with a model at its element "mid".
std::vector<FrameBox> inferred(const std::string& line) {
  Harness h(line, kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(infer), nullptr);
  gst_object_unref(mid);
  std::vector<FrameBox> out;
  for (int i = 0; i < 3; ++i) {
    const Buffer done = h.run(full_frame());
    EXPECT_TRUE(done) << h.error();
    if (done) out = boxes(done);
  }
  EXPECT_EQ(h.warning(), "");
  return out;
}

TEST(Restore, CarriesTensorsForADecoderDownstream) {
  // 192 x 108 in 64 x 64: full = 3 * (scaled - (0, 14)).
  const std::string scale =
      "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
      "pixel-aspect-ratio=1/1 ! identity name=mid";
  const auto before = inferred(scale + " ! boxdecode ! framerestore");
  const auto behind = inferred(scale + " ! framerestore ! boxdecode");
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(before[0].box, (Box{30, 78, 90, 102}));
  EXPECT_EQ(behind[0].box, before[0].box);
  EXPECT_EQ(behind[0].label, before[0].label);
  EXPECT_EQ(behind[0].model, g_quark_from_string("small"));
}

TEST(Restore, DecodesNoTensorTwice) {
  Harness h(
      "framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! identity name=mid "
      "! boxdecode ! framerestore ! boxdecode on-mismatch=warn",
      kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(infer), nullptr);
  gst_object_unref(mid);
  EXPECT_EQ(boxes(h.run(full_frame())).size(), 1u);
  EXPECT_NE(h.warning().find("were decoded upstream"), std::string::npos);
}

TEST(Restore, KeepsEarlierTensorsOnTheFullFrameOnly) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  g_autoptr(GstElement) mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  gsize between = 99;
  const auto count = +[](GstElement*, GstBuffer* frame, gpointer out) {
    *static_cast<gsize*>(out) = gst_buffer_get_n_meta(frame, gst_tensor_meta_api_get_type());
  };
  g_signal_connect(mid, "handoff", G_CALLBACK(count), &between);
  GstBuffer* frame = full_frame();
  infer(nullptr, frame, nullptr);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(between, 0u);
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), gst_tensor_meta_api_get_type()), 1u);
}

TEST(Restore, SharesTheDataOfTensors) {
  const Buffer from(gst_buffer_new()), to(gst_buffer_new());
  infer(nullptr, from.get(), nullptr);
  const auto data_of = [](const Buffer& of) {
    return gst_tensor_meta_get(gst_buffer_get_tensor_meta(of.get()), 0)->data;
  };
  const auto other = std::make_shared<const TensorProvenance>();
  carry_tensors(from.get(), to.get(), [&](const SharedProvenance&) { return other; });
  EXPECT_NE(data_of(from), data_of(to));
  EXPECT_EQ(gst_buffer_peek_memory(data_of(from), 0), gst_buffer_peek_memory(data_of(to), 0));
  EXPECT_EQ(provenance_of(data_of(to)), other);
  EXPECT_NE(provenance_of(data_of(from)), other);
}

}  // namespace
}  // namespace keepbox
