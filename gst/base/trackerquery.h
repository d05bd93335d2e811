// SPDX-License-Identifier: LGPL-2.1-or-later
// The query upstream to a tracker, before any box has an id.
#pragma once

#include <gst/gst.h>

#include <string>

namespace keepbox {

/// True if a tracker of keepbox upstream follows the boxes that arrive at an element's sink pad.
/// @param model only boxes of that model; nullptr: boxes of any.
bool is_tracked(GstElement* element, const char* model = nullptr);

/// Answers is_tracked() in a tracker. @param followed the model whose boxes it follows; empty: all.
/// @return true if it was that query and it follows such boxes.
bool answer_tracked(GstQuery* query, const std::string& followed);

}  // namespace keepbox
