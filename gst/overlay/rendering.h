// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides whether boxes are drawn on the frame, or attached to it for downstream to draw.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/base/result.h"
#include "core/formula/letterbox.h"

namespace keepbox {

enum class Rendering { kAuto, kBlend, kAttach };
GType rendering_type();

/// The caps of frames, by what can be done with them. A composition is a
/// GstVideoOverlayComposition on the frame, of which caps have a feature.
class RenderingCaps {
 public:
  RenderingCaps();
  ~RenderingCaps() { gst_caps_unref(drawable_); }
  RenderingCaps(const RenderingCaps&) = delete;
  RenderingCaps& operator=(const RenderingCaps&) = delete;

  /// Returns the caps of pad templates: frames to draw on first, then any others. Transfer full.
  static GstCaps* of_templates();

  /// Settings of a negotiation.
  struct RenderRequest {
    Rendering how = Rendering::kAuto;
    bool obscures = false;  // objects, which needs frames to draw on
    bool unlinked = false;  // the source pad, so that what downstream accepts is unknown
  };
  /// Implements transform_caps() of GstBaseTransform. From source to sink, caps that accept
  /// anything do not count as accepting compositions, unless these are required.
  GstCaps* transform(GstPadDirection from, GstCaps* caps, GstCaps* filter,
                     const RenderRequest& request) const;

  /// Orders the choices of output caps for fixed input caps: the preferred one is the first.
  /// @param choices transfer full. @return transfer full
  GstCaps* prefer(GstCaps* input, GstCaps* choices, Rendering how) const;

  /// True if the frames of fixed caps can be drawn on where they are.
  bool can_draw(GstCaps* fixed) const;
  /// True if they have a format that can be drawn on in memory of the host.
  bool has_drawable_format(GstCaps* fixed) const;

 private:
  GstCaps* other_side(GstPadDirection from, GstCaps* caps, const RenderRequest& request) const;

  GstCaps* drawable_;
};

/// Result of a negotiation.
struct Settled {
  bool attaches = false;     // boxes, instead of drawing them
  bool can_obscure = false;  // frames have a format that can be drawn on in memory of the host
  Size window{};             // in which sinks show attached boxes; empty if unknown
};

/// Reads the caps of pads, and asks downstream if boxes are to be attached. Returns an error if
/// they are required to be and downstream does not accept them, by caps that name the feature or by
/// its answer to the ALLOCATION query.
Result<Settled> settle(const RenderingCaps& caps, GstBaseTransform* base, Rendering how);

/// Returns the error for frames on which the new value of the property `render` cannot be used.
Error cannot_change();

/// Returns the enlargement with which a frame fills a window; 1 without one.
float enlargement(Size frame, Size window);

}  // namespace keepbox
