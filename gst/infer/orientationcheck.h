// SPDX-License-Identifier: LGPL-2.1-or-later
// Warns about rotated pictures: the display rotates them, but the model sees them as stored.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// One stream after the other. For the streaming thread.
class OrientationCheck {
 public:
  /// Takes an event of the stream, and warns once per stream about a tag that asks for a rotation.
  /// @param element posts the warning.
  void take(GstElement* element, GstEvent* event);

 private:
  bool warned_ = false;
};

}  // namespace keepbox
