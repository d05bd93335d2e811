// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the overlay plugin, separate from the main one because of OpenCV and Pango.
#include "gst/base/element.h"
#include "gst/metas/relationmeta.h"

namespace {

gboolean init(GstPlugin* plugin) {
  keepbox::register_wire_meta();
  return GST_ELEMENT_REGISTER(boxoverlay, plugin);
}

}  // namespace

extern "C" {
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, keepboxoverlay,
                  "Draws the boxes of object detectors", init, PACKAGE_VERSION, "LGPL", "keepbox",
                  "Unknown package origin")
}
