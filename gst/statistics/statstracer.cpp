// SPDX-License-Identifier: LGPL-2.1-or-later
// Observes elements as they start. It is a tracer because an environment variable enables it,
// without a change of the pipeline or the application.
#include "gst/statistics/statstracer.h"

#include <gst/gsttracer.h>

#include <memory>

#include "gst/statistics/statsfile.h"

namespace {

struct StatsTracer {
  GstTracer parent;
  keepbox::StatsFile* file;  // nullptr if parameters are wrong
};
using StatsTracerClass = GstTracerClass;

GType stats_tracer_get_type();
G_DEFINE_TYPE(StatsTracer, stats_tracer, GST_TYPE_TRACER)

StatsTracer* self_of(gpointer object) { return static_cast<StatsTracer*>(object); }

/// Adds an element when it starts, because it is in its pipeline by then. Writes the last values
/// before a pipeline stops, while elements still have them.
void before_change(GObject* object, GstClockTime, GstElement* element, GstStateChange change) {
  keepbox::StatsFile& file = *self_of(object)->file;
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) file.watch(element);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && GST_IS_PIPELINE(element)) file.write();
}

/// Has the first values written when all elements of a pipeline have started, so that readers need
/// not wait for the first interval.
void after_change(GObject* object, GstClockTime, GstElement* element, GstStateChange change,
                  GstStateChangeReturn result) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && GST_IS_PIPELINE(element) &&
      result != GST_STATE_CHANGE_FAILURE)
    self_of(object)->file->write_soon();
}

void constructed(GObject* object) {
  G_OBJECT_CLASS(stats_tracer_parent_class)->constructed(object);
  g_autofree gchar* params = nullptr;
  g_object_get(object, "params", &params, nullptr);
  auto place = keepbox::StatsPlace::parse(params == nullptr ? "" : params);
  if (!place) {
    g_printerr("keepboxstats: %s\n", place.error().message().c_str());
    return;
  }
  self_of(object)->file = new keepbox::StatsFile(*std::move(place));
  gst_tracing_register_hook(GST_TRACER(object), "element-change-state-pre",
                            G_CALLBACK(before_change));
  gst_tracing_register_hook(GST_TRACER(object), "element-change-state-post",
                            G_CALLBACK(after_change));
}

void finalize(GObject* object) {
  delete self_of(object)->file;
  G_OBJECT_CLASS(stats_tracer_parent_class)->finalize(object);
}

void stats_tracer_class_init(StatsTracerClass* klass) {
  G_OBJECT_CLASS(klass)->constructed = constructed;
  G_OBJECT_CLASS(klass)->finalize = finalize;
}

void stats_tracer_init(StatsTracer*) {}

}  // namespace

namespace keepbox {

bool register_stats_tracer(GstPlugin* plugin) {
  return gst_tracer_register(plugin, "keepboxstats", stats_tracer_get_type());
}

}  // namespace keepbox
