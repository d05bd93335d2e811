// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and labels of frames as text, to compare frames.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/metas/counts.h"

namespace keepbox::test {

/// Returns everything that readers find on a frame.
std::string text_of(GstBuffer* buffer);

/// Returns everything that counts have.
std::string counts_text(const FrameCounts& counts);

}  // namespace keepbox::test
