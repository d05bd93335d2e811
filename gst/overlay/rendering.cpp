// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiates overlay compositions: the caps feature, then the ALLOCATION query.
#include "gst/overlay/rendering.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gst/base/props.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/cudaraster.h"
#include "gst/overlay/paint.h"

namespace keepbox {
namespace {

constexpr const char* kComposition = GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION;

/// Returns the formats in the memories that can be drawn on. Transfer full.
GstCaps* drawable_caps() {
  GstCaps* caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(KEEPBOX_PAINT_FORMATS));
  if (device_feature() == nullptr) return caps;
  GstCaps* on_device = gst_caps_copy(caps);
  gst_caps_set_features_simple(on_device, gst_caps_features_new(device_feature(), nullptr));
  gst_caps_append(caps, on_device);
  return caps;
}

/// True if the structure's features name the composition; features that accept anything do not.
bool has_feature(const GstCaps* caps, guint i) {
  const GstCapsFeatures* features = gst_caps_get_features(caps, i);
  return !gst_caps_features_is_any(features) && gst_caps_features_contains(features, kComposition);
}

bool accepts_any(const GstCaps* caps, guint i) {
  return gst_caps_features_is_any(gst_caps_get_features(caps, i));
}

/// Returns one structure of caps, with or without the feature. Transfer full.
GstCaps* nth(const GstCaps* caps, guint i, bool with_feature) {
  GstCaps* out = gst_caps_copy_nth(caps, i);
  if (accepts_any(out, 0)) return out;
  GstCapsFeatures* features = gst_caps_get_features(out, 0);
  if (!with_feature) gst_caps_features_remove(features, kComposition);
  else if (!has_feature(out, 0)) gst_caps_features_add(features, kComposition);
  return out;
}

/// Returns caps with or without the feature, optionally only those whose structure has it.
GstCaps* all(const GstCaps* caps, bool with_feature, bool only_named) {
  GstCaps* out = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    if (!only_named || has_feature(caps, i)) out = gst_caps_merge(out, nth(caps, i, with_feature));
  return out;
}

/// Returns the structures that do not name the feature.
GstCaps* unnamed(const GstCaps* caps) {
  GstCaps* out = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    if (!has_feature(caps, i)) out = gst_caps_merge(out, gst_caps_copy_nth(caps, i));
  return out;
}

/// Returns what both have, in the order of the first. @param caps transfer full
GstCaps* within(GstCaps* caps, GstCaps* limit) {
  GstCaps* out = gst_caps_intersect_full(caps, limit, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(caps);
  return out;
}

bool any_named(const GstCaps* caps) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    if (has_feature(caps, i)) return true;
  return false;
}

/// Reads the size of the window, which sinks give next to the meta.
Size window_of(const GstStructure* params) {
  guint width = 0, height = 0;
  if (params == nullptr || !gst_structure_get_uint(params, "width", &width) ||
      !gst_structure_get_uint(params, "height", &height))
    return {};
  return {width, height};
}

/// Answers of downstream about compositions.
struct DownstreamSupport {
  bool accepts = false;
  Size window{};
};

DownstreamSupport query_compositions(GstPad* source, GstCaps* output) {
  DownstreamSupport offer;
  if (GstCaps* caps = gst_pad_peer_query_caps(source, nullptr); caps != nullptr) {
    offer.accepts = any_named(caps);
    gst_caps_unref(caps);
  }
  GstQuery* query = gst_query_new_allocation(output, FALSE);
  guint index = 0;
  if (gst_pad_peer_query(source, query) &&
      gst_query_find_allocation_meta(query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, &index)) {
    const GstStructure* params = nullptr;
    gst_query_parse_nth_allocation_meta(query, index, &params);
    offer = {.accepts = true, .window = window_of(params)};
  }
  gst_query_unref(query);
  return offer;
}

Error no_compositions(GstPad* source) {
  GstPad* peer = gst_pad_get_peer(source);
  GstElement* element = peer != nullptr ? gst_pad_get_parent_element(peer) : nullptr;
  const std::string name = element != nullptr ? GST_OBJECT_NAME(element) : "downstream";
  if (element != nullptr) gst_object_unref(element);
  if (peer != nullptr) gst_object_unref(peer);
  return problem(ErrorKind::kUnsupported,
                 "Boxes cannot be attached: " + name +
                     " does not accept overlay compositions (meta:GstVideoOverlayComposition)",
                 "draw on the frame with render=auto or render=blend, or put a sink that draws "
                 "compositions after it, such as glimagesink");
}

}  // namespace

GType rendering_type() {
  static const GType type = register_enum(
      "KeepboxOverlayRendering",
      {{static_cast<int>(Rendering::kAuto), "auto",
        "Draw on frames in system or CUDA memory; attach if a frame cannot be drawn on (GL, VA "
        "or DMABuf memory, or another format) and downstream draws overlay compositions"},
       {static_cast<int>(Rendering::kBlend), "blend", "Draw on the frame"},
       {static_cast<int>(Rendering::kAttach), "attach",
        "Attach, and leave the frame as it is; an error if downstream does not draw what is "
        "attached"}});
  return type;
}

RenderingCaps::RenderingCaps() : drawable_(drawable_caps()) {}

GstCaps* RenderingCaps::of_templates() {
  return gst_caps_merge(drawable_caps(), gst_caps_from_string("video/x-raw(ANY)"));
}

GstCaps* RenderingCaps::transform(GstPadDirection from, GstCaps* caps, GstCaps* filter,
                                  const RenderRequest& request) const {
  g_autoptr(GstCaps) out = other_side(from, caps, request);
  if (filter == nullptr) return g_steal_pointer(&out);
  return gst_caps_intersect_full(filter, out, GST_CAPS_INTERSECT_FIRST);
}

GstCaps* RenderingCaps::other_side(GstPadDirection from, GstCaps* caps,
                                   const RenderRequest& request) const {
  // Compositions of upstream stay attached, and pass with frames that are drawn on, too.
  GstCaps* on_drawable = all(drawable_, true, false);
  GstCaps* drawn = within(unnamed(caps), drawable_);
  GstCaps* drawn_below = within(all(caps, true, true), on_drawable);
  gst_caps_unref(on_drawable);
  GstCaps* out = gst_caps_merge(drawn, drawn_below);
  const bool required = request.how == Rendering::kAttach;
  if (!required && (request.how == Rendering::kBlend || request.obscures)) return out;
  const bool to_sink = from == GST_PAD_SRC;
  GstCaps* attached = all(caps, !to_sink, to_sink && !required && !request.unlinked);
  attached = gst_caps_merge(attached, all(caps, true, true));
  if (!required) return gst_caps_merge(out, attached);
  // All other caps are accepted, so that settle() can report the reason.
  gst_caps_unref(out);
  return gst_caps_merge(attached, gst_caps_ref(caps));
}

GstCaps* RenderingCaps::prefer(GstCaps* input, GstCaps* choices, Rendering how) const {
  const bool named = how == Rendering::kAttach || !can_draw(input) || any_named(input);
  GstCaps* first = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(choices); ++i)
    if (has_feature(choices, i) == named)
      first = gst_caps_merge(first, gst_caps_copy_nth(choices, i));
  return gst_caps_merge(first, choices);
}

bool RenderingCaps::can_draw(GstCaps* fixed) const {
  GstCaps* plain = all(fixed, false, false);
  const bool can = gst_caps_can_intersect(plain, drawable_);
  gst_caps_unref(plain);
  return can;
}

bool RenderingCaps::has_drawable_format(GstCaps* fixed) const {
  GstCaps* on_host = gst_caps_copy(fixed);
  gst_caps_set_features_simple(on_host, nullptr);
  const bool has = gst_caps_can_intersect(on_host, drawable_);
  gst_caps_unref(on_host);
  return has;
}

Result<Settled> settle(const RenderingCaps& caps, GstBaseTransform* base, Rendering how) {
  g_autoptr(GstCaps) input = gst_pad_get_current_caps(base->sinkpad);
  g_autoptr(GstCaps) output = gst_pad_get_current_caps(base->srcpad);
  if (input == nullptr || output == nullptr) return Settled{};
  const bool required = how == Rendering::kAttach;
  const bool attaches =
      any_named(output) && (required || (how == Rendering::kAuto && !caps.can_draw(input)));
  Settled out{.attaches = attaches, .can_obscure = caps.has_drawable_format(input)};
  if (!attaches && !required) return out;
  const DownstreamSupport offer = query_compositions(base->srcpad, output);
  if (!attaches || (required && !offer.accepts))
    return std::unexpected(no_compositions(base->srcpad));
  out.window = offer.window;
  return out;
}

Error cannot_change() {
  return problem(ErrorKind::kUnsupported,
                 "The new value of render= does not work with these frames: they cannot be drawn "
                 "on, or no element downstream draws boxes",
                 "set render=auto");
}

float enlargement(Size frame, Size window) {
  if (window.width == 0 || window.height == 0) return 1;
  constexpr float kSmallest = 0.125f, kMaxSide = 8192;
  const float by = std::min(static_cast<float>(window.width) / static_cast<float>(frame.width),
                            static_cast<float>(window.height) / static_cast<float>(frame.height));
  const auto side = static_cast<float>(std::max(frame.width, frame.height));
  const float scale = std::clamp(by, kSmallest, std::max(1.0f, kMaxSide / side));
  if (scale <= 1) return scale;
  // Edges of tiles are on whole pixels of the frame, and a tile has at least one.
  constexpr float kTile = Layer::kTile;
  return kTile / std::max(1.0f, std::round(kTile / scale));
}

}  // namespace keepbox
