// SPDX-License-Identifier: LGPL-2.1-or-later
// Releases events that waited.
#include "gst/frames/heldevents.h"

#include <utility>

namespace keepbox {

void HeldEvents::push_to(GstPad* pad) {
  for (GstEvent* event : std::exchange(events_, {})) gst_pad_push_event(pad, event);
}

void HeldEvents::drop_segments() {
  std::erase_if(events_, [](GstEvent* event) {
    if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return false;
    gst_event_unref(event);
    return true;
  });
}

void HeldEvents::clear() {
  for (GstEvent* event : std::exchange(events_, {})) gst_event_unref(event);
}

}  // namespace keepbox
