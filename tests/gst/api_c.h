// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h as C sees it, called from the tests in C++.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/// Adds a tensor of 1x1x6 float32 that lives for ever: class 7 at 10, 20 to 50, 80.
gboolean api_c_add(GstBuffer* buffer, GError** error);

/// The label of the first box, or NULL.
const gchar* api_c_first_label(GstBuffer* buffer);

gsize api_c_tensor_size(void);
gsize api_c_box_size(void);

G_END_DECLS
