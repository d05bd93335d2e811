// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxoverlay.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>

#include "gst/base/props.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/rendering.h"
#include "gst/overlay/typeface.h"

namespace keepbox {

inline constexpr gdouble kBlurLost = 0.5;  // seconds

/// Property values as set. Plain data: copied under the object lock.
struct OverlayProps {
  int render = static_cast<int>(Rendering::kAuto);
  int color_by = static_cast<int>(ColorBy::kClass);
  guint color = 0;  // 0: by color_by
  bool draw_boxes = true, draw_masks = true, draw_keypoints = true;
  bool draw_labels = true, draw_scores = true, draw_tracking_ids = true;
  bool draw_attributes = true, draw_counts = true;
  gfloat keypoint_threshold = 0.5;
  gdouble draw_trails = 0;  // seconds
  int placement = static_cast<int>(LabelPlacement::kApart);
  std::string blur, pixelate;  // lists of classes
  gdouble blur_strength = ObscuringSize{}.strength, blur_margin = ObscuringSize{}.margin;
  std::optional<gdouble> blur_lost;  // seconds; unset: kBlurLost
  guint thickness = 0;               // 0: by the frame's size
  gdouble font_scale = 0;            // 0: by the frame's size

  bool obscures() const { return !blur.empty() || !pixelate.empty(); }
};

const PropertyTable<OverlayProps>& overlay_properties();

}  // namespace keepbox
