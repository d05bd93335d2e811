// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxtrack.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/track/methods.h"
#include "gst/base/props.h"

namespace keepbox {

/// Property values as set. Plain data: copied under the object lock. -1: the method's value.
struct TrackProps {
  int method = static_cast<int>(TrackMethod::kByteTrack);
  gfloat high_threshold = -1, low_threshold = -1, new_threshold = -1;
  gfloat match_iou = -1;
  bool recover_lost = false;
  int confirm_after = -1;
  gint64 lost_after = -1;  // ns
  bool per_class = false;
  bool predict = false;
  gdouble nominal_rate = 30;  // frames per second; 0: by the caps
  std::string model_name;

  bool operator==(const TrackProps&) const = default;
};

const PropertyTable<TrackProps>& track_properties();

/// Returns the parameters of the method, with those that are set in their place.
TrackParams params_of(const TrackProps& props);

}  // namespace keepbox
