// SPDX-License-Identifier: LGPL-2.1-or-later
// Implements the counts of lines and zones of the C API.
#include "gst/metas/counts.h"

#include <vector>

#include "gst/api/keepbox.h"

using namespace keepbox;

namespace {

/// Returns a list of a buffer's counts; an empty one without counts.
template <class T>
const std::vector<T>& list_of(GstBuffer* buffer, std::vector<T> FrameCounts::* list) {
  static const FrameCounts none;
  const FrameCounts* counts = counts_of(buffer);
  return (counts != nullptr ? *counts : none).*list;
}

/// Returns an entry of a list, or an empty one.
template <class T>
const T& entry(const std::vector<T>& list, guint index) {
  static const T none{};
  return index < list.size() ? list[index] : none;
}

template <class T>
void put(T* to, T value) {
  if (to != nullptr) *to = value;
}

gchar* copied(const std::string& text, bool there) {
  return there ? g_strndup(text.data(), text.size()) : nullptr;
}

}  // namespace

guint keepbox_buffer_get_n_lines(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), 0);
  return static_cast<guint>(list_of(buffer, &FrameCounts::lines).size());
}

gchar* keepbox_buffer_get_line(GstBuffer* buffer, guint index, guint64* in, guint64* out,
                               guint64* uncertain_in, guint64* uncertain_out) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  const auto& lines = list_of(buffer, &FrameCounts::lines);
  const LineCount& line = entry(lines, index);
  put(in, line.crossed[0]);
  put(out, line.crossed[1]);
  put(uncertain_in, line.uncertain[0]);
  put(uncertain_out, line.uncertain[1]);
  return copied(line.name, index < lines.size());
}

gchar* keepbox_buffer_get_line_directions(GstBuffer* buffer, guint index, gchar** out) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  const auto& lines = list_of(buffer, &FrameCounts::lines);
  const LineCount& line = entry(lines, index);
  put(out, out != nullptr ? copied(line.directions[1], index < lines.size()) : nullptr);
  return copied(line.directions[0], index < lines.size());
}

guint keepbox_buffer_get_n_zones(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), 0);
  return static_cast<guint>(list_of(buffer, &FrameCounts::zones).size());
}

gchar* keepbox_buffer_get_zone(GstBuffer* buffer, guint index, guint64* visits, GstClockTime* mean,
                               GstClockTime* longest, gboolean* crowded) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  const auto& zones = list_of(buffer, &FrameCounts::zones);
  const ZoneCount& zone = entry(zones, index);
  put(visits, zone.visits);
  put(mean, zone.mean);
  put(longest, zone.longest);
  put(crowded, gboolean{zone.crowded});
  return copied(zone.name, index < zones.size());
}

guint keepbox_buffer_get_n_present(GstBuffer* buffer, guint zone) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), 0);
  return entry(list_of(buffer, &FrameCounts::zones), zone).now();
}

gboolean keepbox_buffer_get_present(GstBuffer* buffer, guint zone, guint index, guint64* id,
                                    GstClockTime* dwell, const gchar** label, const gchar** model) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  const auto& present = entry(list_of(buffer, &FrameCounts::zones), zone).present;
  const PresentObject& object = entry(present, index);
  put(id, object.object.id);
  put(dwell, object.dwell);
  put(label, g_quark_to_string(object.label));
  put(model, g_quark_to_string(object.object.model));
  return index < present.size();
}
