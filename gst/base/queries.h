// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries of this project's elements.
#pragma once

#include <gst/gst.h>

#include <string>

namespace keepbox {

// Custom queries, answered synchronously: they carry a pointer to the answer.

/// True if it is the custom query of that name.
bool is_custom(GstQuery* query, const char* name);

/// Sends a custom query of that name from an element's pad. @param answer may be written until this
/// returns.
void send_custom(GstElement* element, const char* pad, const char* name, gpointer answer);

/// Returns what send_custom() got. @pre is_custom().
gpointer custom_answer(GstQuery* query);

// The query upstream to a tracker, before any box has an id.

/// True if a tracker of keepbox upstream follows the boxes that arrive at an element's sink pad.
/// @param model only boxes of that model; nullptr: boxes of any.
bool is_tracked(GstElement* element, const char* model = nullptr);

/// Answers is_tracked() in a tracker. @param followed the model whose boxes it follows; empty: all.
/// @return true if it was that query and it follows such boxes.
bool answer_tracked(GstQuery* query, const std::string& followed);

}  // namespace keepbox
