// SPDX-License-Identifier: LGPL-2.1-or-later
// Metas whose name was registered first by another version of the code, with another size.
#include "gst/tensors/metatype.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

gboolean init(GstMeta*, gpointer, GstBuffer*) { return TRUE; }
gboolean refuse(GstBuffer*, GstMeta*, GstBuffer*, GQuark, gpointer) { return FALSE; }

constexpr MetaFunctions kFunctions = {init, nullptr, refuse};

TEST(MetaType, HasTheRequestedSize) {
  static const gchar* tags[] = {nullptr};
  constexpr gsize kOld = sizeof(GstMeta) + 8, kNew = sizeof(GstMeta) + 24;
  const GType plain = gst_meta_api_type_register("TrialMetaAPI", tags);
  gst_meta_register(plain, "TrialMeta", kOld, init, nullptr, refuse);
  const GType older = meta_api("TrialMetaAPI", kOld), newer = meta_api("TrialMetaAPI", kNew);
  const GstMetaInfo* there = meta_info(older, "TrialMeta", kOld, kFunctions);
  const GstMetaInfo* wanted = meta_info(newer, "TrialMeta", kNew, kFunctions);
  EXPECT_EQ(there->size, kOld);
  EXPECT_EQ(wanted->size, kNew);
  EXPECT_EQ(meta_info(newer, "TrialMeta", kNew, kFunctions), wanted) << "once";
  EXPECT_EQ(meta_api("TrialMetaAPI", kNew), newer);
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_add_meta(buffer, there, nullptr);
  EXPECT_EQ(gst_buffer_get_meta(buffer, newer), nullptr) << "another layout";
  gst_buffer_unref(buffer);
}

}  // namespace
}  // namespace keepbox
