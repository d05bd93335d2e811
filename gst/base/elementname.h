// SPDX-License-Identifier: LGPL-2.1-or-later
// Default names of elements.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Names instances that are created without a name after their factory: "boxdecode0", "boxdecode1"
/// and so on. GStreamer uses the type's name, and drops only its own prefix. To be called in
/// class_init. @pre no parent class has called it.
void name_by_factory(gpointer klass);

}  // namespace keepbox
