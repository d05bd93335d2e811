// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of streams as GStreamer 1.28's analyticscombiner makes them, for tests that are built
// with an older version.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/gst/frames.h"

namespace keepbox::test {

inline constexpr const char* kBatchCaps =
    "multistream/x-analytics-batch(meta:GstAnalyticsBatchMeta)";

/// GstAnalyticsBatchStream and GstAnalyticsBatchMeta, as declared by GStreamer 1.28.
struct RawStream {
  guint index;
  GstEvent** sticky_events;
  gsize n_sticky_events;
  GstMiniObject** objects;
  gsize n_objects;
  gpointer padding[GST_PADDING];
};
struct RawBatch {
  GstMeta meta;
  RawStream* streams;
  gsize n_streams;
};

using BatchMetaOf = RawBatch* (*)(GstBuffer*);

inline BatchMetaOf batch_function(const char* name) {
  return reinterpret_cast<BatchMetaOf>(dlsym(RTLD_DEFAULT, name));
}

inline bool has_stream_batches() {
  return batch_function("gst_buffer_add_analytics_batch_meta") != nullptr;
}

/// Returns caps that name the streams' caps, as analyticscombiner's do. Transfer full.
inline GstCaps* batch_caps(const std::vector<std::string>& streams) {
  GstCaps* out = gst_caps_from_string(kBatchCaps);
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_ARRAY);
  for (const std::string& each : streams) {
    GValue one = G_VALUE_INIT;
    g_value_init(&one, GST_TYPE_CAPS);
    g_value_take_boxed(&one, gst_caps_from_string(each.c_str()));
    gst_value_array_append_and_take_value(&list, &one);
  }
  gst_structure_take_value(gst_caps_get_structure(out, 0), "streams", &list);
  return out;
}

/// A stream's part of a batch to be made.
struct StreamPart {
  std::vector<GstEvent*> sticky;        // borrowed
  std::vector<GstMiniObject*> objects;  // transfer full

  void add(GstBuffer* frame) { objects.push_back(GST_MINI_OBJECT(frame)); }
  void add(GstBufferList* frames) { objects.push_back(GST_MINI_OBJECT(frames)); }
  void add(GstEvent* event) { objects.push_back(GST_MINI_OBJECT(event)); }
};

/// Makes a batch. Transfer full. @pre has_stream_batches().
inline GstBuffer* make_batch(const std::vector<StreamPart>& parts) {
  GstBuffer* buffer = gst_buffer_new();
  RawBatch* batch = batch_function("gst_buffer_add_analytics_batch_meta")(buffer);
  batch->streams = g_new0(RawStream, parts.size());
  batch->n_streams = parts.size();
  for (gsize i = 0; i < parts.size(); ++i) {
    RawStream& stream = batch->streams[i];
    stream.index = guint(i);
    stream.n_sticky_events = parts[i].sticky.size();
    if (stream.n_sticky_events > 0)
      stream.sticky_events = static_cast<GstEvent**>(
          g_memdup2(parts[i].sticky.data(), stream.n_sticky_events * sizeof(GstEvent*)));
    for (GstEvent* event : parts[i].sticky) gst_event_ref(event);
    stream.n_objects = parts[i].objects.size();
    if (stream.n_objects > 0)
      stream.objects = static_cast<GstMiniObject**>(
          g_memdup2(parts[i].objects.data(), stream.n_objects * sizeof(GstMiniObject*)));
  }
  return buffer;
}

/// Returns the streams of a batch.
inline std::vector<std::vector<GstMiniObject*>> objects_of(const Buffer& batch) {
  std::vector<std::vector<GstMiniObject*>> out;
  RawBatch* meta =
      batch ? batch_function("gst_buffer_get_analytics_batch_meta")(batch.get()) : nullptr;
  EXPECT_NE(meta, nullptr);
  for (gsize i = 0; meta != nullptr && i < meta->n_streams; ++i)
    out.emplace_back(meta->streams[i].objects,
                     meta->streams[i].objects + meta->streams[i].n_objects);
  return out;
}

/// Returns the frames of a stream in a batch, those of lists, too.
inline std::vector<Buffer> frames_of(const Buffer& batch, size_t stream) {
  std::vector<Buffer> out;
  const auto all = objects_of(batch);
  if (stream >= all.size()) return out;
  for (GstMiniObject* object : all[stream]) {
    if (object == nullptr) ADD_FAILURE() << "an empty place in stream " << stream;
    else if (GST_IS_BUFFER(object)) out.emplace_back(gst_buffer_ref(GST_BUFFER(object)));
    else if (GST_IS_BUFFER_LIST(object))
      for (guint i = 0; i < gst_buffer_list_length(GST_BUFFER_LIST(object)); ++i)
        out.emplace_back(gst_buffer_ref(gst_buffer_list_get(GST_BUFFER_LIST(object), i)));
  }
  return out;
}

/// A stream: the sticky events that each of its batches repeats.
class Stream {
 public:
  Stream(const std::string& id, const std::string& caps)
      : events_{gst_event_new_stream_start(id.c_str())} {
    set_caps(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    events_.push_back(gst_event_new_segment(&segment));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    for (GstEvent* event : events_) gst_event_unref(event);
  }

  /// Returns a part without frames.
  StreamPart part() const { return {.sticky = events_, .objects = {}}; }
  template <class... Objects>
  StreamPart part(Objects... objects) const {
    StreamPart out = part();
    (out.add(objects), ...);
    return out;
  }

  static GstEvent* caps_event(const std::string& caps) {
    g_autoptr(GstCaps) parsed = gst_caps_from_string(caps.c_str());
    return gst_event_new_caps(parsed);
  }
  void set_caps(const std::string& caps) {
    if (events_.size() > 1) gst_event_unref(events_[1]);
    events_.resize(std::max<size_t>(events_.size(), 2));
    events_[1] = caps_event(caps);
  }

 private:
  std::vector<GstEvent*> events_;
};

/// A box without what it refers to.
struct PlainBox {
  float x1, y1, x2, y2, score;
  std::string label;
  friend bool operator==(const PlainBox&, const PlainBox&) = default;
};

/// True if boxes are equal up to the rounding of a model's sums.
inline bool is_near(const PlainBox& one, const PlainBox& other) {
  const auto near = [](float a, float b) { return std::abs(a - b) <= 1e-5f * (1 + std::abs(b)); };
  return near(one.x1, other.x1) && near(one.y1, other.y1) && near(one.x2, other.x2) &&
         near(one.y2, other.y2) && near(one.score, other.score) && one.label == other.label;
}

inline std::vector<PlainBox> plain_boxes(const Buffer& frame) {
  std::vector<PlainBox> out;
  for (const FrameBox& each : boxes(frame))
    out.push_back({each.box.x1, each.box.y1, each.box.x2, each.box.y2, each.score,
                   each.label != 0 ? g_quark_to_string(each.label) : ""});
  return out;
}

}  // namespace keepbox::test
