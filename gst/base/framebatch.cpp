// SPDX-License-Identifier: LGPL-2.1-or-later
// Declares the layout of GStreamer 1.28's batches, and takes frames out of them.
#include "gst/base/framebatch.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "gst/base/batchcaps.h"

#if __has_include(<gst/analytics/gstanalyticsbatchmeta.h>)
#include <gst/analytics/analytics.h>
#endif

namespace keepbox {

/// The layout of GstAnalyticsBatchStream.
struct BatchStreamLayout {
  guint index;
  GstEvent** sticky_events;
  gsize n_sticky_events;
  GstMiniObject** objects;
  gsize n_objects;
  gpointer padding[GST_PADDING];
};

struct BatchMetaLayout {
  GstMeta meta;
  BatchStreamLayout* streams;
  gsize n_streams;
};

#if __has_include(<gst/analytics/gstanalyticsbatchmeta.h>)
static_assert(sizeof(BatchStreamLayout) == sizeof(GstAnalyticsBatchStream) &&
              offsetof(BatchStreamLayout, objects) == offsetof(GstAnalyticsBatchStream, objects) &&
              sizeof(BatchMetaLayout) == sizeof(GstAnalyticsBatchMeta));
#endif

namespace {

/// Returns the id of a STREAM_START event; "" for other events.
std::string stream_id(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_STREAM_START) return {};
  const gchar* id = nullptr;
  gst_event_parse_stream_start(event, &id);
  return id != nullptr ? id : "";
}

/// Takes a frame. @param frame transfer full.
BatchItem item_of(GstBuffer* frame, size_t object) {
  return {.frame = OwnedBuffer(gst_buffer_make_writable(frame)), .object = object};
}

/// Takes the frames of a list, which becomes an empty one.
void take_list(GstMiniObject*& object, size_t number, BatchedStream& out) {
  GstBufferList* list = GST_BUFFER_LIST(object);
  const guint count = gst_buffer_list_length(list);
  std::vector<GstBuffer*> frames;
  for (guint i = 0; i < count; ++i) frames.push_back(gst_buffer_ref(gst_buffer_list_get(list, i)));
  gst_buffer_list_unref(list);  // first, as frames with another owner are not writable
  object = GST_MINI_OBJECT(gst_buffer_list_new_sized(count));
  for (GstBuffer* frame : frames) out.items.push_back(item_of(frame, number));
}

void take_object(GstMiniObject*& object, size_t number, BatchedStream& out) {
  if (object == nullptr) return;
  if (GST_IS_EVENT(object))
    out.items.push_back({.event = GST_EVENT(object), .frame = nullptr, .object = number});
  else if (GST_IS_BUFFER(object))
    out.items.push_back(item_of(GST_BUFFER(std::exchange(object, nullptr)), number));
  else if (GST_IS_BUFFER_LIST(object)) take_list(object, number, out);
}

std::string start_id(const BatchedStream& stream) {
  for (GstEvent* event : stream.sticky)
    if (auto id = stream_id(event); !id.empty()) return id;
  for (const BatchItem& item : stream.items)
    if (item.event != nullptr)
      if (auto id = stream_id(item.event); !id.empty()) return id;
  return {};
}

BatchedStream take_stream(const BatchStreamLayout& stream) {
  BatchedStream out;
  out.sticky.assign(stream.sticky_events, stream.sticky_events + stream.n_sticky_events);
  for (gsize i = 0; i < stream.n_objects; ++i) take_object(stream.objects[i], i, out);
  out.id = start_id(out);
  return out;
}

}  // namespace

FrameBatch::FrameBatch(GstBuffer* buffer) : meta_(nullptr) {
  static const auto get = reinterpret_cast<BatchMetaLayout* (*)(GstBuffer*)>(
      has_batches() ? dlsym(RTLD_DEFAULT, "gst_buffer_get_analytics_batch_meta") : nullptr);
  if (get != nullptr) meta_ = get(buffer);
  for (gsize i = 0; meta_ != nullptr && i < meta_->n_streams; ++i)
    streams_.push_back(take_stream(meta_->streams[i]));
}

FrameBatch::~FrameBatch() {
  for (size_t i = 0; i < streams_.size(); ++i)
    for (BatchItem& item : streams_[i].items) {
      if (!item.frame) continue;
      GstMiniObject*& place = meta_->streams[i].objects[item.object];
      if (place == nullptr) place = GST_MINI_OBJECT(item.frame.release());
      else gst_buffer_list_add(GST_BUFFER_LIST(place), item.frame.release());
    }
}

size_t FrameBatch::max_frames_per_stream() const {
  size_t max_frames = 0;
  for (const BatchedStream& stream : streams_)
    max_frames = std::max<size_t>(
        max_frames, std::ranges::count_if(
                        stream.items, [](const BatchItem& item) { return item.frame != nullptr; }));
  return max_frames;
}

}  // namespace keepbox
