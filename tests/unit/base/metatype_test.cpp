// SPDX-License-Identifier: LGPL-2.1-or-later
// Metas whose name was registered first by another version of the code, with another size.
#include "gst/tensors/provenance.h"

#include <gtest/gtest.h>

#include <string>

#include "gst/frames/tunnel.h"
#include "gst/metas/pixelmap.h"

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

TEST(MetaType, OfEveryMetaHasItsSizeInItsName) {
  GstBuffer* buffer = gst_buffer_new();
  GstBuffer* whole = gst_buffer_new();
  GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
  const Picture picture{.size = {64, 48}};
  begin_transforms(buffer, 1, picture);
  add_saved_frame(buffer, {whole, caps}, picture, nullptr);
  gpointer state = nullptr;
  size_t count = 0;
  while (const GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) {
    const std::string name = g_type_name(meta->info->type), api = g_type_name(meta->info->api);
    const std::string size = '-' + std::to_string(meta->info->size);
    EXPECT_TRUE(name.ends_with(size)) << name;
    EXPECT_TRUE(api.ends_with(size)) << api;
    ++count;
  }
  EXPECT_EQ(count, 3u);
  gst_buffer_unref(buffer);
  gst_buffer_unref(whole);
  gst_caps_unref(caps);
}

}  // namespace
}  // namespace keepbox
