// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of lines and zones, read by the C API.
#include <array>
#include <string>

#include "gst/metas/counts.h"
#include "tests/gst/api/api.h"

namespace keepbox {
namespace {

using test::Buffer;

/// Returns a text, which it frees, or "none".
std::string text_of(gchar* text) {
  const std::string out = text != nullptr ? text : "none";
  g_free(text);
  return out;
}

Buffer counted() {
  Buffer frame = test::empty_frame();
  attach_counts(frame.get(), {.lines = {{.name = "gate",
                                         .points = {},
                                         .directions = {"enter", "leave"},
                                         .crossed = {3, 1},
                                         .uncertain = {0, 2}}},
                              .zones = {{.name = "queue",
                                         .present = {{.object = {g_quark_from_string("street"), 7},
                                                      .label = g_quark_from_string("person"),
                                                      .dwell = 5},
                                                     {.object = {0, 9}}},
                                         .visits = 4,
                                         .mean = 10,
                                         .longest = 20,
                                         .crowded = true}},
                              .notes = {}});
  return frame;
}

TEST(ApiCounts, OfLines) {
  const Buffer frame = counted();
  ASSERT_EQ(keepbox_buffer_get_n_lines(frame.get()), 1u);
  std::array<guint64, 4> n{};
  EXPECT_EQ(text_of(keepbox_buffer_get_line(frame.get(), 0, &n[0], &n[1], &n[2], &n[3])), "gate");
  EXPECT_EQ(n, (std::array<guint64, 4>{3, 1, 0, 2}));
  gchar* out = nullptr;
  EXPECT_EQ(text_of(keepbox_buffer_get_line_directions(frame.get(), 0, &out)), "enter");
  EXPECT_EQ(text_of(out), "leave");
  EXPECT_EQ(text_of(keepbox_buffer_get_line(frame.get(), 1, &n[0], nullptr, nullptr, nullptr)),
            "none");
  EXPECT_EQ(n[0], 0u);
  EXPECT_EQ(text_of(keepbox_buffer_get_line_directions(frame.get(), 1, &out)), "none");
  EXPECT_EQ(out, nullptr);
}

TEST(ApiCounts, OfZones) {
  const Buffer frame = counted();
  ASSERT_EQ(keepbox_buffer_get_n_zones(frame.get()), 1u);
  guint64 visits = 0, id = 0;
  GstClockTime mean = 0, longest = 0, dwell = 0;
  gboolean crowded = FALSE;
  EXPECT_EQ(text_of(keepbox_buffer_get_zone(frame.get(), 0, &visits, &mean, &longest, &crowded)),
            "queue");
  EXPECT_TRUE(visits == 4 && mean == 10 && longest == 20 && crowded);
  EXPECT_EQ(text_of(keepbox_buffer_get_zone(frame.get(), 1, nullptr, nullptr, nullptr, &crowded)),
            "none");
  EXPECT_FALSE(crowded);
  ASSERT_EQ(keepbox_buffer_get_n_present(frame.get(), 0), 2u);
  EXPECT_EQ(keepbox_buffer_get_n_present(frame.get(), 1), 0u);
  const gchar *label = nullptr, *model = nullptr;
  EXPECT_TRUE(keepbox_buffer_get_present(frame.get(), 0, 0, &id, &dwell, &label, &model));
  EXPECT_TRUE(id == 7 && dwell == 5);
  EXPECT_STREQ(label, "person");
  EXPECT_STREQ(model, "street");
  EXPECT_TRUE(keepbox_buffer_get_present(frame.get(), 0, 1, &id, nullptr, &label, &model));
  EXPECT_TRUE(id == 9 && label == nullptr && model == nullptr);
  EXPECT_FALSE(keepbox_buffer_get_present(frame.get(), 0, 2, &id, nullptr, nullptr, nullptr));
  EXPECT_FALSE(keepbox_buffer_get_present(frame.get(), 1, 0, &id, nullptr, nullptr, nullptr));
}

TEST(ApiCounts, NoneWithoutBoxcount) {
  const Buffer frame = test::empty_frame();
  EXPECT_EQ(keepbox_buffer_get_n_lines(frame.get()), 0u);
  EXPECT_EQ(keepbox_buffer_get_n_zones(frame.get()), 0u);
  EXPECT_EQ(keepbox_buffer_get_n_present(frame.get(), 0), 0u);
}

}  // namespace
}  // namespace keepbox
