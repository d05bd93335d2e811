// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of boxoverlay's properties: name, blurb and where the value is kept.
#include "gst/overlay/overlayprops.h"

namespace keepbox {
namespace {

constexpr guint kThickest = 256;
constexpr gdouble kMaxFont = 32;
constexpr gdouble kLongestTrail = 3600;  // seconds
constexpr gdouble kWeakest = 0.01;       // fraction of a box
constexpr gdouble kLongestLost = 3600;   // seconds

constexpr Property<OverlayProps> kOverlayProperties[] = {
    {"render",
     "Where boxes are drawn: on the frame, or as an overlay composition "
     "(GstVideoOverlayComposition) next to it, which sinks and compositors such as glimagesink and "
     "gloverlaycompositor draw. blur and pixelate always change the frame itself.",
     &OverlayProps::render, rendering_type},
    {"color-by", "What determines the colour of a box.", &OverlayProps::color_by, color_by_type},
    {"color",
     "Single colour for all boxes as 0xAARRGGBB (0xffff0000 is red), drawn opaque; 0 uses "
     "color-by.",
     &OverlayProps::color, nullptr, 0, G_MAXUINT32},
    {"draw-boxes", "Draw the outlines of boxes.", &OverlayProps::draw_boxes},
    {"draw-masks", "Tint objects that have a mask in the colour of their box, with an opaque edge.",
     &OverlayProps::draw_masks},
    {"draw-keypoints", "Draw keypoints as dots, joined by lines.", &OverlayProps::draw_keypoints},
    {"keypoint-threshold",
     "Minimum score of keypoints that are drawn; a line is drawn only if both of its ends are.",
     &OverlayProps::keypoint_threshold},
    {"draw-trails",
     "Seconds for which the path of the centre of a box with a tracking id is drawn; 0 draws "
     "none.",
     &OverlayProps::draw_trails, nullptr, 0, kLongestTrail},
    {"draw-labels", "Show the class in the label of a box.", &OverlayProps::draw_labels},
    {"draw-scores", "Show the score in the label of a box.", &OverlayProps::draw_scores},
    {"draw-tracking-ids", "Show the tracking id, if any, as #id in the label of a box.",
     &OverlayProps::draw_tracking_ids},
    {"draw-attributes",
     "Show the results of classifiers and text recognisers (see classdecode) in the label of a "
     "box, and those about the whole frame in its upper left corner.",
     &OverlayProps::draw_attributes},
    {"draw-counts",
     "Draw the lines of boxcount with the number of crossings in each direction, at arrows across "
     "them, its zones with the number of objects in them, and in the label of a box how long its "
     "object has been in a zone. A crowded zone (crowd-alarm) is filled more strongly.",
     &OverlayProps::draw_counts},
    {"label-placement", "Where labels are placed; boxes with higher scores are placed first.",
     &OverlayProps::placement, label_placement_type},
    {"blur",
     "Comma-separated classes whose objects are blurred, by name or number: CLASS or "
     "MODEL/CLASS, with * for every class, such as person,plates/*. The area of the mask is "
     "blurred, or of the box, upright or oriented, if there is no mask; held and predicted boxes "
     "are blurred, too. On frames that the model skipped, objects stay blurred where it found them "
     "last; before its first frame, all of the picture is. Boxes and labels are drawn on top.",
     &OverlayProps::blur},
    {"pixelate",
     "Classes whose objects are shown as coarse blocks, in the form of blur; a class in both is "
     "pixelated.",
     &OverlayProps::pixelate},
    {"blur-strength",
     "Size of the blocks that replace the picture, as a fraction of the longer side of a "
     "box. Only the mean of each block remains; blur interpolates between these means.",
     &OverlayProps::blur_strength, nullptr, kWeakest, 1},
    {"blur-margin",
     "Width of the area around an object that is blurred or pixelated too, as a fraction of the "
     "longer side of its box.",
     &OverlayProps::blur_margin},
    {"blur-lost",
     "Seconds for which an object with a tracking id (see boxtrack) stays blurred or pixelated "
     "on frames without its box, or with its box as another class: at its last position, and "
     "where its last speed would have taken it. Frames that the model skipped do not count. 0 "
     "means not at all.",
     &OverlayProps::blur_lost, nullptr, 0, kLongestLost, false, false, kBlurLost},
    {"thickness",
     "Width of outlines in pixels; dots and mask edges scale with it. 0 derives it from the frame "
     "size.",
     &OverlayProps::thickness, nullptr, 0, kThickest},
    {"font-scale",
     "Size of labels; 1 makes capitals 21 pixels high. 0 derives it from the frame size.",
     &OverlayProps::font_scale, nullptr, 0, kMaxFont},
};

}  // namespace

const PropertyTable<OverlayProps>& overlay_properties() {
  static constexpr PropertyTable<OverlayProps> table(kOverlayProperties, kChangeWhilePlaying);
  return table;
}

}  // namespace keepbox
