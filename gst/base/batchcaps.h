// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiation of batches of streams (see framebatch.h).
#pragma once

#include <gst/gst.h>

#include "core/base/result.h"
#include "gst/base/element.h"

namespace keepbox {

/// True if GStreamer has such batches, in the layout of its releases from 1.28 on.
bool has_batches();

/// True if they are the caps of batches. @pre fixed.
bool are_batches(const GstCaps* caps);

/// Adds the caps of batches to a template's, if GStreamer has them. @param caps writable.
void add_batches(GstCaps* caps);

/// Adds the caps of batches to the result of a caps query, even if no element downstream has them,
/// so that the element can explain it. @pre the query is answered, for a sink pad.
void offer_batches(GstQuery* query);

/// Posts an error if an event has caps of batches, and the element linked to the pad "src" takes
/// none.
/// @return true if it did; the event then is transfer full.
bool refuse_batches(GstElement* element, PostedError& failed, GstEvent* event);

/// Returns the error of a buffer that is no batch, although its caps are.
std::unexpected<Error> no_batch();

}  // namespace keepbox
