// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors in analytics metas between framesave and framerestore.
#include "tests/gst/frames/restore.h"
#include "tests/gst/tensormtds.h"

namespace keepbox {
namespace {

using test::attach_mtd;
using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;
using test::Tensor;

class RestoreMtd : public test::WithTensorMtds {};

constexpr const char* kSmaller =
    "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
    "pixel-aspect-ratio=1/1 ! identity name=mid";

/// The changes to the scaled frame, and the data of its tensors.
struct Inferred {
  bool source = false;     // the data has a source
  bool of_object = false;  // the tensor belongs to an object
  gint object_y = 0;
  std::vector<Buffer> data;
};

void infer_mtd(GstElement*, GstBuffer* frame, gpointer user) {
  Inferred& model = *static_cast<Inferred*>(user);
  Tensor tensor = test::rows({{5, 18, 15, 20, 0.9f, 1}});
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  if (model.source)
    set_provenance(data, std::make_shared<const TensorProvenance>(
                             TensorProvenance{.geometry = {{64, 64}, {32, 32}, 2, 4, 0, 8},
                                              .detector = "yolov10",
                                              .units = Units::kPixels}));
  model.data.emplace_back(gst_buffer_ref(data));
  GstAnalyticsODMtd od;
  if (model.of_object)
    gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame), 0, 5,
                                           model.object_y, 10, 10, 0.9f, &od);
  const GstAnalyticsMtd mtd = attach_mtd(frame, tensor, data);
  if (model.of_object)
    gst_analytics_relation_meta_set_relation(mtd.meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, mtd.id,
                                             od.id);
}

/// Returns the output of a line with that model at its element "mid".
Buffer inferred(Harness& h, Inferred& model) {
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(infer_mtd), &model);
  gst_object_unref(mid);
  Buffer out = h.run(full_frame());
  EXPECT_TRUE(out) << h.error();
  return out;
}

size_t listed(const Buffer& frame) {
  FrameTensors tensors;
  EXPECT_TRUE(tensors.list_tensors(frame.get()));
  return tensors.listed().size();
}

TEST_F(RestoreMtd, IsCarriedForADecoderDownstream) {
  // 192 x 108 in 64 x 64: full = 3 * (scaled - (0, 14)).
  Inferred before{.source = true}, behind{.source = true};
  Harness first(std::string(kSmaller) + " ! boxdecode ! framerestore", kFull);
  Harness second(std::string(kSmaller) + " ! framerestore ! boxdecode", kFull);
  const Buffer one = inferred(first, before), other = inferred(second, behind);
  ASSERT_EQ(boxes(one).size(), 1u);
  ASSERT_EQ(boxes(other).size(), 1u);
  EXPECT_EQ(boxes(one)[0].box, (Box{30, 78, 90, 102}));
  EXPECT_EQ(boxes(other)[0].box, boxes(one)[0].box);
}

TEST_F(RestoreMtd, IsNotDecodedTwice) {
  for (const bool source : {false, true}) {
    Inferred model{.source = source};
    Harness h(std::string(kSmaller) +
                  " ! boxdecode ! framerestore "
                  "! boxdecode on-mismatch=warn",
              kFull);
    EXPECT_EQ(boxes(inferred(h, model)).size(), 1u);
    EXPECT_NE(h.warning().find("were decoded upstream"), std::string::npos);
  }
}

TEST_F(RestoreMtd, ReleasesItsDataWithTheFrame) {
  for (const bool source : {false, true}) {
    Inferred model{.source = source};
    {
      Harness h(std::string(kSmaller) + " ! boxdecode ! framerestore", kFull);
      const Buffer out = inferred(h, model);
      EXPECT_EQ(listed(out), 1u);
      EXPECT_GT(GST_MINI_OBJECT_REFCOUNT_VALUE(model.data.at(0).get()), 1);
    }
    EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(model.data.at(0).get()), 1);
  }
}

TEST_F(RestoreMtd, OfAnObjectStaysWithTheObject) {
  // Rows 0 to 13 of the scaled frame are border, outside of the full frame.
  for (const gint y : {20, 1}) {
    Inferred model{.of_object = true, .object_y = y};
    Harness h(std::string(kSmaller) + " ! framerestore", kFull);
    const Buffer out = inferred(h, model);
    EXPECT_EQ(boxes(out).size(), y == 20 ? 1u : 0u);
    EXPECT_EQ(gst_analytics_relation_get_length(gst_buffer_get_analytics_relation_meta(out.get())),
              y == 20 ? 2u : 0u);
    EXPECT_EQ(listed(out), 0u);
  }
}

}  // namespace
}  // namespace keepbox
