// SPDX-License-Identifier: LGPL-2.1-or-later
// Posts an element's errors, and keeps EOS from following them.
#include "gst/base/element.h"

#include "gst/base/error.h"

namespace keepbox {

void install_stats(GObjectClass* klass, guint id, const char* blurb) {
  g_object_class_install_property(
      klass, id,
      g_param_spec_boxed("stats", "stats", blurb, GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

void PostedError::post(GstElement* element, const Error& error, std::source_location where) {
  posted_ = true;
  post_error(element, error, where);
}

bool PostedError::take(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) clear();
  if (GST_EVENT_TYPE(event) != GST_EVENT_EOS || !posted_) return false;
  gst_event_unref(event);
  return true;
}

}  // namespace keepbox
