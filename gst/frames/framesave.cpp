// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave: keeps the full-resolution frame before it is scaled for the model.
#include <gst/base/gstbasetransform.h>

#include "gst/base/elements.h"
#include "gst/base/picture.h"
#include "gst/frames/framemeta.h"
#include "gst/metas/analytics.h"

struct KeepboxFrameSave {
  GstBaseTransform parent;
  GstCaps* caps;  // of the frames, owned
};
struct KeepboxFrameSaveClass {
  GstBaseTransformClass parent_class;
};

GType keepbox_frame_save_get_type();
G_DEFINE_TYPE(KeepboxFrameSave, keepbox_frame_save, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(framesave, "framesave", GST_RANK_NONE, keepbox_frame_save_get_type())

namespace {

KeepboxFrameSave* cast(gpointer object) { return reinterpret_cast<KeepboxFrameSave*>(object); }

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  gst_caps_replace(&cast(base)->caps, input);
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  gst_clear_caps(&cast(base)->caps);
  return TRUE;
}

/// Leaves behind what belongs to the frame as it is: boxes would be scaled without regard to a
/// letterbox and come back beside themselves, and an earlier saved frame is found on this one.
gboolean keep_meta(GstBuffer*, GstMeta** meta, gpointer) {
  if (keepbox::is_analytics((*meta)->info->api) || keepbox::is_saved_frame(**meta)) *meta = nullptr;
  return TRUE;
}

/// Sends a shallow copy on, which holds the frame itself: memory that is shared is copied by
/// GStreamer before anyone writes to it, so the saved frame stays as it was.
GstFlowReturn prepare_output_buffer(GstBaseTransform* base, GstBuffer* input, GstBuffer** output) {
  *output = gst_buffer_copy(input);
  gst_buffer_foreach_meta(*output, keep_meta, nullptr);
  keepbox::add_saved_frame(*output, input, cast(base)->caps);
  return GST_FLOW_OK;
}

GstFlowReturn transform_ip(GstBaseTransform*, GstBuffer*) { return GST_FLOW_OK; }

}  // namespace

static void keepbox_frame_save_init(KeepboxFrameSave* self) {
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_frame_save_class_init(KeepboxFrameSaveClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  gst_element_class_set_static_metadata(
      element, "Frame saver", "Filter/Video",
      "Keeps each frame with its boxes as it is, and sends a copy without boxes on, so that "
      "framerestore can bring the frame back after detection on the scaled copy",
      "The keepbox developers");
  keepbox::add_video_templates(element);
  transform->set_caps = set_caps;
  transform->stop = stop;
  transform->prepare_output_buffer = prepare_output_buffer;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
}
