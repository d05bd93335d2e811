// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics of elements as text for Prometheus.
#pragma once

#include <gst/gst.h>

#include <span>
#include <string>
#include <string_view>

namespace keepbox {

/// Values of the property "stats" of an element.
struct ElementStats {
  std::string pipeline;
  std::string element;
  std::string factory;
  const GstStructure* values;
  double frame_age = 0;  // seconds since a frame left the element
  double look_age = 0;   // seconds since one did that the models looked at
};

/// Returns what a field of the property "stats" is, in a sentence without its full stop. Of a field
/// that is not in the table, it names the element whose documentation has it.
std::string stats_help(std::string_view factory, std::string_view field);

/// True if the table has that field of that kind of element.
bool has_stats_help(std::string_view factory, std::string_view field);

/// Returns the text format of Prometheus: a counter or gauge for each number, such as
/// keepbox_boxdecode_frames_total, one "info" for each element that has texts, as labels, the ages
/// of the last frames, and the version of this build. Of several elements with the same names only
/// the first is in it; without elements the text is empty.
/// @param source label of all lines; left out if empty
std::string prometheus_text(std::span<const ElementStats> elements, const std::string& source);

}  // namespace keepbox
