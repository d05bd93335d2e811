// SPDX-License-Identifier: LGPL-2.1-or-later
// Custom queries, answered synchronously: they carry a pointer to the answer.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// True if it is the custom query of that name.
bool is_custom(GstQuery* query, const char* name);

/// Sends a custom query of that name from an element's pad. @param answer may be written until this
/// returns.
void send_custom(GstElement* element, const char* pad, const char* name, gpointer answer);

/// Returns what send_custom() got. @pre is_custom().
gpointer custom_answer(GstQuery* query);

}  // namespace keepbox
