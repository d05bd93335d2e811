// SPDX-License-Identifier: LGPL-2.1-or-later
// C functions that use keepbox.h, called from tests in C++.
#pragma once

#include <gst/gst.h>

#include "gst/api/keepbox.h"

G_BEGIN_DECLS

/// Adds a static tensor of 1x1x6 float32: class 7 at 10, 20 to 50, 80.
gboolean api_c_add(GstBuffer* buffer, GError** error);

/// Adds the same tensor to each frame of a batch.
gboolean api_c_add_batch(GstBuffer** buffers, gsize count, GError** error);

/// Checks with all functions that the buffer has one box, that of the tensor.
gboolean api_c_check(GstBuffer* buffer);

/// Sets the memory by any numbers: in C++ values outside of an enumeration are undefined.
void api_c_set_place(KeepboxTensorInfo* info, gint memory, gint ready);

G_END_DECLS
