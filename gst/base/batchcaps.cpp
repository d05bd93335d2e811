// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognises and offers caps of batches.
#include "gst/base/batchcaps.h"

#include <dlfcn.h>

#include <string>

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
