// SPDX-License-Identifier: LGPL-2.1-or-later
// Posts an element's errors, keeps EOS from following them, and describes the element.
#include "gst/base/element.h"

#include "gst/base/error.h"

namespace keepbox {

void install_stats(GObjectClass* klass, guint id, const char* blurb) {
  g_object_class_install_property(
      klass, id,
      g_param_spec_boxed("stats", "stats", blurb, GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

void describe(gpointer klass, const char* name, const char* kind, const char* description) {
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), name, kind, description,
                                        "The keepbox developers");
}

GstPad* add_pad(GstElement* element, const char* name) {
  auto* klass = GST_ELEMENT_GET_CLASS(element);
  GstPad* pad = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, name), name);
  gst_element_add_pad(element, pad);
  return pad;
}

void PostedError::post(GstElement* element, const Error& error, std::source_location where) {
  posted_ = true;
  post_error(element, error, where);
}

bool PostedError::check(GstElement* element, const Status& status, std::source_location where) {
  if (!status) post(element, status.error(), where);
  return status.has_value();
}

bool PostedError::take(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) clear();
  if (GST_EVENT_TYPE(event) != GST_EVENT_EOS || !posted_) return false;
  gst_event_unref(event);
  return true;
}

}  // namespace keepbox
