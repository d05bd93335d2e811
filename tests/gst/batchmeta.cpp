// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions of GStreamer 1.28's GstAnalyticsBatchMeta for older versions, so that batches of
// streams are tested with all of them. Calls are passed on to a GStreamer that has them.
#include <dlfcn.h>

#include <algorithm>

#include "tests/gst/streambatches.h"

#if !GST_CHECK_VERSION(1, 28, 0)
namespace keepbox::test {
namespace {

constexpr const char* kAdd = "gst_buffer_add_analytics_batch_meta";
constexpr const char* kGet = "gst_buffer_get_analytics_batch_meta";
constexpr const char* kCaps = "gst_analytics_batch_stream_get_caps";

/// Returns GStreamer's own function of a name; nullptr if it has none.
template <class Function>
Function* of_gstreamer(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

RawBatch* batch_of(GstMeta* meta) { return reinterpret_cast<RawBatch*>(meta); }

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  batch_of(meta)->streams = nullptr;
  batch_of(meta)->n_streams = 0;
  return TRUE;
}

/// Copies an array of references. Objects may be missing.
template <class T>
T** copied(T** from, gsize count) {
  T** out = g_new0(T*, count);
  for (gsize i = 0; i < count; ++i)
    if (from[i] != nullptr)
      out[i] = reinterpret_cast<T*>(gst_mini_object_ref(GST_MINI_OBJECT_CAST(from[i])));
  return out;
}

template <class T>
void free_all(T** objects, gsize count) {
  for (gsize i = 0; i < count; ++i)
    if (objects[i] != nullptr) gst_mini_object_unref(GST_MINI_OBJECT_CAST(objects[i]));
  g_free(objects);
}

void free_batch(GstMeta* meta, GstBuffer*) {
  const RawBatch& batch = *batch_of(meta);
  for (gsize i = 0; i < batch.n_streams; ++i) {
    free_all(batch.streams[i].sticky_events, batch.streams[i].n_sticky_events);
    free_all(batch.streams[i].objects, batch.streams[i].n_objects);
  }
  g_free(batch.streams);
}

gboolean copy_batch(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  const RawBatch& from = *batch_of(meta);
  RawBatch& out = *batch_function(kAdd)(to);
  out.n_streams = from.n_streams;
  out.streams = g_new0(RawStream, from.n_streams);
  std::copy_n(from.streams, from.n_streams, out.streams);
  for (gsize i = 0; i < out.n_streams; ++i) {
    RawStream& stream = out.streams[i];
    stream.sticky_events = copied(stream.sticky_events, stream.n_sticky_events);
    stream.objects = copied(stream.objects, stream.n_objects);
  }
  return TRUE;
}

GType batch_api() {
  static const gchar* no_tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("GstAnalyticsBatchMetaAPI", no_tags);
  return type;
}

const GstMetaInfo* batch_info() {
  static const GstMetaInfo* info = gst_meta_register(
      batch_api(), "GstAnalyticsBatchMeta", sizeof(RawBatch), init, free_batch, copy_batch);
  return info;
}

/// Returns the caps of a stream, which its sticky events have.
GstCaps* caps_of(const RawStream& stream) {
  GstCaps* caps = nullptr;
  for (gsize i = 0; i < stream.n_sticky_events; ++i)
    if (GST_EVENT_TYPE(stream.sticky_events[i]) == GST_EVENT_CAPS)
      gst_event_parse_caps(stream.sticky_events[i], &caps);
  return caps != nullptr ? gst_caps_ref(caps) : nullptr;
}

}  // namespace

extern "C" {
// found by name only, which the linker does not see
#define KEEPBOX_BY_NAME [[gnu::used, gnu::retain, gnu::visibility("default")]]
KEEPBOX_BY_NAME RawBatch* gst_buffer_add_analytics_batch_meta(GstBuffer* buffer);
KEEPBOX_BY_NAME RawBatch* gst_buffer_get_analytics_batch_meta(GstBuffer* buffer);
KEEPBOX_BY_NAME GstCaps* gst_analytics_batch_stream_get_caps(RawStream* stream);

RawBatch* gst_buffer_add_analytics_batch_meta(GstBuffer* buffer) {
  static const auto own = of_gstreamer<RawBatch*(GstBuffer*)>(kAdd);
  return own != nullptr ? own(buffer)
                        : batch_of(gst_buffer_add_meta(buffer, batch_info(), nullptr));
}

RawBatch* gst_buffer_get_analytics_batch_meta(GstBuffer* buffer) {
  static const auto own = of_gstreamer<RawBatch*(GstBuffer*)>(kGet);
  return own != nullptr ? own(buffer) : batch_of(gst_buffer_get_meta(buffer, batch_api()));
}

GstCaps* gst_analytics_batch_stream_get_caps(RawStream* stream) {
  static const auto own = of_gstreamer<GstCaps*(RawStream*)>(kCaps);
  return own != nullptr ? own(stream) : caps_of(*stream);
}
}

}  // namespace keepbox::test
#endif
