// SPDX-License-Identifier: LGPL-2.1-or-later
// One table of boxoverlay's properties: name, blurb and where the value is kept.
#include "gst/overlay/overlayprops.h"

namespace keepbox {
namespace {

constexpr guint kThickest = 256;
constexpr gdouble kLargestFont = 32;

constexpr Property<OverlayProps> kOverlayProperties[] = {
    {"color-by", "What has a colour of its own.", &OverlayProps::color_by, color_by_type},
    {"color",
     "One colour for all boxes, 0xAARRGGBB (0xffff0000 is red), drawn opaque; 0 leaves it to "
     "color-by.",
     &OverlayProps::color, nullptr, 0, G_MAXUINT32},
    {"draw-boxes", "Boxes are drawn as outlines.", &OverlayProps::draw_boxes},
    {"draw-masks",
     "Objects that have a mask are tinted in the colour of their box, within an edge.",
     &OverlayProps::draw_masks},
    {"draw-keypoints", "Keypoints of boxes are drawn as dots, and what joins them as lines.",
     &OverlayProps::draw_keypoints},
    {"keypoint-threshold",
     "Least score of the keypoints that are drawn; a line is drawn with both of its ends.",
     &OverlayProps::keypoint_threshold},
    {"draw-labels", "The label at each box names its class.", &OverlayProps::draw_labels},
    {"draw-scores", "The label at each box shows its score.", &OverlayProps::draw_scores},
    {"draw-tracking-ids", "The label at each box shows its tracking id as #id, where it has one.",
     &OverlayProps::draw_tracking_ids},
    {"label-placement",
     "Where the label of a box is put; boxes with higher scores choose first.",
     &OverlayProps::placement, label_placement_type},
    {"thickness",
     "Width of outlines in pixels, which dots and edges of masks go by; 0 goes by the size of the "
     "frame.",
     &OverlayProps::thickness, nullptr, 0, kThickest},
    {"font-scale",
     "Size of labels, 1 for capitals of 21 pixels; 0 goes by the size of the frame.",
     &OverlayProps::font_scale, nullptr, 0, kLargestFont},
};

}  // namespace

const PropertyTable<OverlayProps>& overlay_properties() {
  static constexpr PropertyTable<OverlayProps> table(kOverlayProperties, kChangeWhilePlaying);
  return table;
}

}  // namespace keepbox
