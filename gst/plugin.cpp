// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin's entry: registers its elements.
#include "gst/elements.h"

namespace {

gboolean init(GstPlugin* plugin) {
  gboolean done = TRUE;
  done &= GST_ELEMENT_REGISTER(boxdecode, plugin);
  done &= GST_ELEMENT_REGISTER(boxoverlay, plugin);
  done &= GST_ELEMENT_REGISTER(boxsink, plugin);
  done &= GST_ELEMENT_REGISTER(framerestore, plugin);
  done &= GST_ELEMENT_REGISTER(framesave, plugin);
  done &= GST_ELEMENT_REGISTER(tensorrecord, plugin);
  done &= GST_ELEMENT_REGISTER(tensorreplay, plugin);
  return done;
}

}  // namespace

extern "C" {
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, keepbox,
                  "Decodes the tensors of object detectors and keeps the right boxes", init,
                  PACKAGE_VERSION, "LGPL", "keepbox", "keepbox")
}
