// SPDX-License-Identifier: LGPL-2.1-or-later
// The debug category of boxdecode.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Returns the category, which is made by the first call, with or without the element.
inline GstDebugCategory* decode_log() {
  static GstDebugCategory* const category =
      _gst_debug_category_new("boxdecode", 0, "decoding of detector tensors");
  return category;
}

}  // namespace keepbox
