// SPDX-License-Identifier: LGPL-2.1-or-later
// Default names of elements.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Gives instances that are created without a name the factory's: "boxdecode0", "boxdecode1" and so
/// on. GStreamer takes the type's, and leaves out no prefix but its own. To be called in
/// class_init.
void name_by_factory(gpointer klass);

}  // namespace keepbox
