// SPDX-License-Identifier: LGPL-2.1-or-later
// The times at which frames left an element. A probe on its pad notes them, which costs a read of
// the clock and of the frame's notes per frame.
#include <atomic>

#include "gst/metas/skippedmodels.h"
#include "gst/statistics/statsfile.h"

namespace keepbox {

/// Time of g_get_monotonic_time(), in microseconds.
struct PassedFrames::Times {
  std::atomic<gint64> frame = g_get_monotonic_time();
  std::atomic<gint64> look = frame.load();
};

namespace {

using SharedTimes = std::shared_ptr<PassedFrames::Times>;

void note(PassedFrames::Times& times, GstBuffer* buffer) {
  const gint64 now = g_get_monotonic_time();
  times.frame = now;
  if (!SkippedModels(buffer).any()) times.look = now;
}

GstPadProbeReturn pass(GstPad*, GstPadProbeInfo* info, gpointer data) {
  PassedFrames::Times& times = **static_cast<SharedTimes*>(data);
  if ((info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0) {
    GstBufferList* list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
    for (guint i = 0; i < gst_buffer_list_length(list); ++i)
      note(times, gst_buffer_list_get(list, i));
  } else {
    note(times, GST_PAD_PROBE_INFO_BUFFER(info));
  }
  return GST_PAD_PROBE_OK;
}

double seconds_since(gint64 time) {
  return static_cast<double>(g_get_monotonic_time() - time) / G_USEC_PER_SEC;
}

}  // namespace

PassedFrames::PassedFrames(GstElement* element) : times_(std::make_shared<Times>()) {
  GstPad* pad = gst_element_get_static_pad(element, "src");
  if (pad == nullptr) pad = gst_element_get_static_pad(element, "sink");
  g_weak_ref_init(&pad_, pad);
  if (pad == nullptr) return;
  probe_ = gst_pad_add_probe(
      pad, GstPadProbeType(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST), pass,
      new SharedTimes(times_), [](gpointer data) { delete static_cast<SharedTimes*>(data); });
  gst_object_unref(pad);
}

PassedFrames::~PassedFrames() {
  auto* pad = static_cast<GstPad*>(g_weak_ref_get(&pad_));
  g_weak_ref_clear(&pad_);
  if (pad == nullptr) return;
  gst_pad_remove_probe(pad, probe_);
  gst_object_unref(pad);
}

double PassedFrames::frame_age() const { return seconds_since(times_->frame); }

double PassedFrames::look_age() const { return seconds_since(times_->look); }

}  // namespace keepbox
