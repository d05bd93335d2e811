// SPDX-License-Identifier: LGPL-2.1-or-later
// GEnum types of boxdecode's properties.
#pragma once

#include <gst/gst.h>

namespace keepbox {

enum class OnMismatch { kError, kWarn, kPass };

enum MaskSize { kMaskSizePrototypes, kMaskSizeFrame };
enum MultiLabel { kMultiLabelAuto, kMultiLabelTrue, kMultiLabelFalse };

GType contract_type();     // 0: auto, otherwise 1 + index into contracts()
GType backend_type();      // 0: auto, otherwise 1 + index into backends()
GType nms_method_type();   // NmsMethod
GType multi_label_type();  // MultiLabel
GType mask_size_type();    // MaskSize
GType tile_merge_type();   // TileMerge
GType units_type();        // Units
GType region_rule_type();  // RegionRule
GType on_mismatch_type();  // OnMismatch

}  // namespace keepbox
