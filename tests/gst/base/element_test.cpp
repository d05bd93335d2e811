// SPDX-License-Identifier: LGPL-2.1-or-later
// The code that elements share: state, properties, and EOS after an error.
#include "gst/base/element.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace keepbox {
namespace {

struct Props {
  gint64 offset = 7;
  std::string text = "unset";
};

const Property<Props> kProperties[] = {
    {"offset", "Offset.", &Props::offset, nullptr, -1e18, 1e18},
    {"text", "Text.", &Props::text},
};

const PropertyTable<Props>& properties() {
  static constexpr PropertyTable<Props> table(kProperties, kChangeWhenReady);
  return table;
}

struct State : TableProps<Props, properties> {
  explicit State(GstElement* element) : owner(element) {}

  GstElement* owner;
  std::shared_ptr<int> kept = std::make_shared<int>(0);
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_TYPE(KeepboxProbe, keepbox_probe, GstElement, GST_TYPE_ELEMENT)

static void keepbox_probe_init(KeepboxProbe* self) { self->make_state(); }

static void keepbox_probe_class_init(KeepboxProbeClass* klass) {
  KeepboxProbe::set_up(klass);
  auto* object = G_OBJECT_CLASS(klass);
  const guint next = keepbox::properties().install(object);
  keepbox::install_stats(object, next, "Unknown to the state.");
}

namespace keepbox {
namespace {

GstElement* probe() {
  return GST_ELEMENT(gst_object_ref_sink(g_object_new(keepbox_probe_get_type(), nullptr)));
}

TEST(ElementState, LivesAsLongAsTheElement) {
  GstElement* element = probe();
  EXPECT_EQ(KeepboxProbe::of(element).owner, element);
  const std::weak_ptr<int> kept = KeepboxProbe::of(element).kept;
  EXPECT_FALSE(kept.expired());
  gst_object_unref(element);
  EXPECT_TRUE(kept.expired());
}

TEST(ElementState, HasTheProperties) {
  g_autoptr(GstElement) element = probe();
  gint64 offset = 0;
  g_autofree gchar* text = nullptr;
  g_object_get(element, "offset", &offset, "text", &text, nullptr);
  EXPECT_EQ(offset, 7);
  EXPECT_STREQ(text, "unset");
  g_object_set(element, "offset", gint64{-999'999'999'999'999'999}, "text", nullptr, nullptr);
  EXPECT_EQ(KeepboxProbe::of(element).props.offset, -999'999'999'999'999'999);
  EXPECT_EQ(KeepboxProbe::of(element).props.text, "");
  EXPECT_EQ(locked_copy(element, KeepboxProbe::of(element).props.text), "");
}

TEST(ElementState, WarnsAboutAnUnknownProperty) {
  g_autoptr(GstElement) element = probe();
  g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*invalid property id*\"stats\"*");
  GstStructure* stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  g_test_assert_expected_messages();
  EXPECT_EQ(stats, nullptr);
}

TEST(ElementState, CountsInStats) {
  struct Count {
    int frames = 3;
    GstStructure* structure() const {
      return gst_structure_new("count", "frames", G_TYPE_INT, frames, nullptr);
    }
  };
  const CountedProps<Props, properties, Count> counted;
  g_auto(GValue) value = G_VALUE_INIT;
  g_value_init(&value, GST_TYPE_STRUCTURE);
  EXPECT_FALSE(counted.get(4, &value));
  EXPECT_TRUE(counted.get(3, &value)) << "the id after two properties";
  int frames = 0;
  EXPECT_TRUE(gst_structure_get_int(gst_value_get_structure(&value), "frames", &frames));
  EXPECT_EQ(frames, 3);
}

TEST(PostedError, IsTheErrorOfAStatus) {
  g_autoptr(GstElement) element = probe();
  PostedError error;
  EXPECT_TRUE(error.check(element, {}));
  EXPECT_FALSE(error);
  EXPECT_FALSE(error.check(element, fail(ErrorKind::kMismatch, "one thing", "another")));
  EXPECT_TRUE(error);
}

TEST(PostedError, TakesTheEosThatFollowsIt) {
  g_autoptr(GstElement) element = probe();
  g_autoptr(GstBus) bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  PostedError error;
  g_autoptr(GstEvent) eos = gst_event_new_eos();
  g_autoptr(GstEvent) flush = gst_event_new_flush_stop(TRUE);
  g_autoptr(GstEvent) other = gst_event_new_flush_start();
  EXPECT_FALSE(error.take(eos));
  error.post(element, {ErrorKind::kMismatch, "one thing", "another", "change it"});
  g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  EXPECT_NE(message, nullptr);
  EXPECT_FALSE(error.take(other));
  EXPECT_TRUE(error.take(gst_event_ref(eos)));
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(eos), 1);
  EXPECT_FALSE(error.take(flush));
  EXPECT_FALSE(error.take(eos));
}

}  // namespace
}  // namespace keepbox
