// SPDX-License-Identifier: LGPL-2.1-or-later
// The identity of a tracked object.
#pragma once

#include <gst/gst.h>

#include <compare>
#include <optional>

#include "gst/metas/framebox.h"

namespace keepbox {

/// An object of a stream. Trackers of different models may give the same ids.
struct ObjectKey {
  GQuark model = 0;  // FrameBox::model, also if it is only the decoder's own name
  guint64 id = 0;    // of its tracker
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

/// Returns the object of a box that has a tracking id.
inline std::optional<ObjectKey> key_of(const FrameBox& box) {
  if (!box.tracking_id) return std::nullopt;
  return ObjectKey{box.model, *box.tracking_id};
}

}  // namespace keepbox
