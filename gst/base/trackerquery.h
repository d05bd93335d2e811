// SPDX-License-Identifier: LGPL-2.1-or-later
// The query from a sink to a tracker upstream, before any box has an id.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// True if a tracker of keepbox follows the boxes that arrive at an element.
bool is_tracked(GstElement* sink);

/// Answers is_tracked() in a tracker. @return true if it was that query.
bool answer_tracked(GstQuery* query);

}  // namespace keepbox
