// SPDX-License-Identifier: LGPL-2.1-or-later
// keepbox.h as C sees it, called from the tests in C++.
#pragma once

#include <gst/gst.h>

#include "gst/api/keepbox.h"

G_BEGIN_DECLS

/// Adds a tensor of 1x1x6 float32 that lives for ever: class 7 at 10, 20 to 50, 80.
gboolean api_c_add(GstBuffer* buffer, GError** error);

/// Has the buffer one box of that tensor, whatever is asked of it?
gboolean api_c_check(GstBuffer* buffer);

/// Says where data lies by any numbers: C++ may not even hold one that its enumeration lacks.
void api_c_set_place(KeepboxTensorInfo* info, gint memory, gint ready);

G_END_DECLS
