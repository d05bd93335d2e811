// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics of elements as text for Prometheus.
#pragma once

#include <gst/gst.h>

#include <span>
#include <string>

namespace keepbox {

/// Values of the property "stats" of an element.
struct ElementStats {
  std::string pipeline;
  std::string element;
  std::string factory;
  const GstStructure* values;
};

/// Returns the text format of Prometheus: a counter or gauge for each number, such as
/// keepbox_boxdecode_frames_total, and one "info" for each element that has texts, as labels. Of
/// several elements with the same names only the first is in it.
/// @param source label of all lines; left out if empty
std::string prometheus_text(std::span<const ElementStats> elements, const std::string& source);

}  // namespace keepbox
