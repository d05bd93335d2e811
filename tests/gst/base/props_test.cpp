// SPDX-License-Identifier: LGPL-2.1-or-later
// Presentation of properties to tools.
#include "gst/base/props.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace keepbox {
namespace {

constexpr const char* kElements[] = {"boxcount",  "boxdecode",   "boxoverlay",   "boxpublish",
                                     "boxsink",   "boxtrack",    "classdecode",  "framerestore",
                                     "framesave", "tensorinfer", "tensorrecord", "tensorreplay"};

TEST(Properties, HaveWordsAsNicks) {
  EXPECT_STREQ(nick_of("max-size-bytes"), "Max size bytes");
  EXPECT_STREQ(nick_of("loop"), "Loop");
  for (const char* name : kElements) {
    g_autoptr(GstElementFactory) factory = gst_element_factory_find(name);
    if (factory == nullptr) continue;  // built without OpenCV or libmosquitto
    GstElement* element = gst_element_factory_create(factory, nullptr);
    guint count = 0;
    g_autofree GParamSpec** specs =
        g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; ++i) {
      const std::string_view property = g_param_spec_get_name(specs[i]);
      if (specs[i]->owner_type != G_OBJECT_TYPE(element) || property == "stats") continue;
      EXPECT_STREQ(g_param_spec_get_nick(specs[i]), nick_of(g_param_spec_get_name(specs[i])))
          << name;
    }
    gst_object_unref(element);
  }
}

TEST(Elements, AreNamedByTheirFactories) {
  const auto name_of = [](const char* factory, const char* wanted) {
    g_autoptr(GstElement) element =
        GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make(factory, wanted)));
    return std::string(GST_OBJECT_NAME(element));
  };
  for (const char* factory : kElements) {
    g_autoptr(GstElementFactory) found = gst_element_factory_find(factory);
    if (found == nullptr) continue;  // built without OpenCV
    const std::string first = name_of(factory, nullptr), next = name_of(factory, nullptr);
    EXPECT_TRUE(first.starts_with(factory)) << first;
    EXPECT_TRUE(next.starts_with(factory)) << next;
    EXPECT_NE(first, next);
  }
  EXPECT_EQ(name_of("tensorreplay", "keepboxtensorreplay7"), "keepboxtensorreplay7");
}

}  // namespace
}  // namespace keepbox
