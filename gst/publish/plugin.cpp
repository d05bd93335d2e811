// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the plugin for brokers, separate from the main one because of libmosquitto.
#include "gst/base/element.h"
#include "gst/metas/relationmeta.h"

namespace {

gboolean init(GstPlugin* plugin) {
  keepbox::register_wire_meta();
  return GST_ELEMENT_REGISTER(boxpublish, plugin);
}

}  // namespace

extern "C" {
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, keepboxpublish,
                  "Publishes the boxes of object detectors to a message broker", init,
                  PACKAGE_VERSION, "LGPL", "keepbox", "Unknown package origin")
}
