// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the orientation of pictures from the tags of a stream.
#include "gst/infer/orientationcheck.h"

#include <string>
#include <utility>

#include "gst/base/error.h"

namespace keepbox {

void OrientationCheck::take(GstElement* element, GstEvent* event) {
  GstTagList* tags = nullptr;
  if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) warned_ = false;
  if (GST_EVENT_TYPE(event) != GST_EVENT_TAG) return;
  gst_event_parse_tag(event, &tags);
  g_autofree gchar* orientation = nullptr;
  if (!gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &orientation) ||
      g_str_equal(orientation, "rotate-0") || std::exchange(warned_, true))
    return;
  post_warning(element, {ErrorKind::kMismatch, "upright pictures",
                         std::string("the tag image-orientation ") + orientation,
                         "put videoflip video-direction=auto before tensorinfer"});
}

}  // namespace keepbox
