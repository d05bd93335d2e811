// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of several streams in one buffer: caps and parts.
#include "gst/base/batches.h"

#include <dlfcn.h>

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

namespace keepbox {
namespace {

constexpr const char* kMedia = "multistream/x-analytics-batch";
constexpr const char* kFeature = "meta:GstAnalyticsBatchMeta";

GstCaps* batch_caps() {
  GstCaps* caps = gst_caps_new_empty_simple(kMedia);
  gst_caps_set_features(caps, 0, gst_caps_features_new_single(kFeature));
  return caps;
}

/// Returns the name of the element downstream of a pad.
std::string element_after(GstPad* pad) {
  g_autoptr(GstPad) peer = gst_pad_get_peer(pad);
  g_autoptr(GstElement) element = peer != nullptr ? gst_pad_get_parent_element(peer) : nullptr;
  return element != nullptr ? GST_OBJECT_NAME(element) : "the element downstream";
}

/// Checks that the element downstream of a pad accepts the caps of an event if they are of batches.
Status check_taker(GstPad* source, GstEvent* event) {
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (!are_batches(caps) || !gst_pad_is_linked(source) ||
      gst_pad_peer_query_accept_caps(source, caps))
    return {};
  return reject(ErrorKind::kUnsupported,
                element_after(source) + " does not accept batches of streams (" + kMedia + ")",
                "put analyticssplitter before it, which splits them into streams");
}

}  // namespace

/// The functions on streams exist only in versions whose streams have a list of objects.
bool has_batches() {
  static const bool has = dlsym(RTLD_DEFAULT, "gst_buffer_get_analytics_batch_meta") != nullptr &&
                          dlsym(RTLD_DEFAULT, "gst_analytics_batch_stream_get_caps") != nullptr;
  return has;
}

bool are_batches(const GstCaps* caps) {
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  return features != nullptr && gst_caps_features_contains(features, kFeature);
}

void add_batches(GstCaps* caps) {
  if (has_batches()) gst_caps_append(caps, batch_caps());
}

void offer_batches(GstQuery* query) {
  if (!has_batches()) return;
  GstCaps *result = nullptr, *filter = nullptr;
  gst_query_parse_caps_result(query, &result);
  gst_query_parse_caps(query, &filter);
  g_autoptr(GstCaps) own = batch_caps();
  if (gst_caps_can_intersect(result, own)) return;
  GstCaps* wanted = filter != nullptr
                        ? gst_caps_intersect_full(filter, own, GST_CAPS_INTERSECT_FIRST)
                        : gst_caps_ref(own);
  g_autoptr(GstCaps) both = gst_caps_copy(result);
  gst_caps_append(both, gst_caps_make_writable(wanted));
  gst_query_set_caps_result(query, both);
}

bool refuse_batches(GstElement* element, PostedError& failed, GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return false;
  g_autoptr(GstPad) source = gst_element_get_static_pad(element, "src");
  if (failed.check(element, check_taker(source, event))) return false;
  gst_event_unref(event);
  return true;
}

std::unexpected<Error> no_batch() {
  return reject(ErrorKind::kMismatch,
                "The caps are those of a batch, and the buffer has no GstAnalyticsBatchMeta",
                "add it to every buffer, as analyticscombiner does");
}

}  // namespace keepbox
