// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the plugin: registers its elements and its tracer.
#include <dlfcn.h>

#include "gst/base/element.h"
#include "gst/metas/relationmeta.h"
#include "gst/statistics/statistics.h"

namespace {

/// Adds GStreamer's library to the plugin's dependencies: the templates depend on its version (see
/// tensor_sink_caps()), and the registry, which caches them, must be updated if it changes.
void depend_on_gstreamer(GstPlugin* plugin) {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(gst_version), &library) == 0) return;
  g_autofree gchar* folder = g_path_get_dirname(library.dli_fname);
  g_autofree gchar* name = g_path_get_basename(library.dli_fname);
  gst_plugin_add_dependency_simple(plugin, nullptr, folder, name, GST_PLUGIN_DEPENDENCY_FLAG_NONE);
}

gboolean init(GstPlugin* plugin) {
  depend_on_gstreamer(plugin);
  keepbox::register_wire_meta();
  gboolean done = TRUE;
  done &= GST_ELEMENT_REGISTER(boxcount, plugin);
  done &= GST_ELEMENT_REGISTER(boxdecode, plugin);
  done &= GST_ELEMENT_REGISTER(boxsink, plugin);
  done &= GST_ELEMENT_REGISTER(boxtrack, plugin);
  done &= GST_ELEMENT_REGISTER(classdecode, plugin);
  done &= GST_ELEMENT_REGISTER(framerestore, plugin);
  done &= GST_ELEMENT_REGISTER(framesave, plugin);
  done &= GST_ELEMENT_REGISTER(tensorinfer, plugin);
  done &= GST_ELEMENT_REGISTER(tensorrecord, plugin);
  done &= GST_ELEMENT_REGISTER(tensorreplay, plugin);
  done &= keepbox::register_stats_tracer(plugin) ? TRUE : FALSE;
  return done;
}

}  // namespace

extern "C" {
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, keepbox,
                  "Runs object detectors, decodes their tensors and applies non-maximum "
                  "suppression",
                  init, PACKAGE_VERSION, "LGPL", "keepbox", "Unknown package origin")
}
