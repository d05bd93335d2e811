// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode's size and region filters: changed live, counted, and rejected if invalid.
#include "gst/decode/properties.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::frame_with;
using test::Harness;

const std::vector<test::Row> kPair{{10, 20, 110, 220, 0.9f, 0}, {300, 300, 340, 380, 0.6f, 1}};

guint stat(GstElement* element, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  guint count = 0;
  EXPECT_TRUE(gst_structure_get_uint(stats, field, &count)) << field;
  return count;
}

TEST(Filters, ChangeWhilePlaying) {
  const test::TempDir dir;
  const std::string labels = dir.write("l", "cat\ndog\n");
  Harness h("boxdecode label-file=" + labels);
  const auto count = [&] { return boxes(h.run(frame_with(kPair))).size(); };
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(stat(h.element(), "filtered-out"), 0u);
  h.set("min-size", "41x0");
  EXPECT_EQ(count(), 1u) << h.error();
  EXPECT_EQ(stat(h.element(), "filtered-out"), 1u);
  EXPECT_EQ(stat(h.element(), "attached"), 1u);
  EXPECT_EQ(stat(h.element(), "kept"), 2u);
  h.set("min-size", "41x0,dog:40x80");
  EXPECT_EQ(count(), 2u);
  h.set("min-size", nullptr, "max-size", "cat:99x0");
  EXPECT_EQ(count(), 1u);
  h.set("max-size", "", "regions", "0,0.5,1,0.5");
  EXPECT_EQ(count(), 1u);
  h.set("regions", "0,0,300,300;320,340,5,5");
  EXPECT_EQ(count(), 2u);
  h.set("regions", "inside:0,0,300,300;320,340,5,5");
  EXPECT_EQ(count(), 1u);
  h.set("regions", "!0,0,640,640");
  EXPECT_EQ(count(), 0u);
  h.set("regions", "0,0.5,1,0.5;!touch:0,0,1,1");
  test::expect_words(h.warning(), {"regions has \"!touch:0,0,1,1\""});
  EXPECT_EQ(h.error() + h.warning(), "");
}

TEST(Filters, NeedNoNewPlan) {
  const DecodeProps before;
  for (auto member : {&DecodeProps::min_size, &DecodeProps::max_size, &DecodeProps::regions}) {
    DecodeProps after;
    after.*member = "changed";
    EXPECT_TRUE(only_tuned(after, before));
  }
  DecodeProps resized{{.model_size = "1x1"}};
  EXPECT_FALSE(only_tuned(resized, before));
}

TEST(Filters, NamesThatNoTensorBringsEndTheStream) {
  Harness h("boxdecode on-mismatch=pass");
  h.set("max-size", "dog:8x8");
  EXPECT_FALSE(h.run(frame_with(kPair)));
  test::expect_words(h.error(), {"max-size names \"dog\""});
  h.set("max-size", nullptr);
  EXPECT_TRUE(h.run(frame_with(kPair))) << "and it goes on when they are mended";
}

TEST(Filters, ImplausibleOnesAreAWarning) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(frame_with(kPair)));
  h.set("min-size", "50x50", "max-size", "40x90");
  ASSERT_TRUE(h.run(frame_with(kPair)));
  EXPECT_NE(h.warning().find("max-size"), std::string::npos);
  h.set("min-size", "", "max-size", "", "regions", "640,0,100,100");
  ASSERT_TRUE(h.run(frame_with(kPair)));
  EXPECT_NE(h.warning().find("is outside of the frame of 640x640"), std::string::npos);
}

TEST(Filters, ExplainMissingBoxes) {
  Harness h("boxdecode regions=0,0,0.01,0.01");
  ASSERT_TRUE(h.run(frame_with(kPair)));
  gst_harness_push_event(h.get(), gst_event_new_eos());
  const std::string warning = h.warning();
  EXPECT_NE(warning.find("dropped by size or region filters"), std::string::npos) << warning;
  EXPECT_NE(warning.find("regions="), std::string::npos) << warning;
}

}  // namespace
}  // namespace keepbox
