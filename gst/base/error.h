// SPDX-License-Identifier: LGPL-2.1-or-later
// The one place where a core Error becomes an element message or a GError.
#pragma once

#include <gst/gst.h>

#include <source_location>

#include "core/result.h"
#include "gst/base/fileerror.h"

namespace keepbox {

/// Posts an element error (the stream is to stop) and logs it, with the place in the code.
void post_error(GstElement* element, const Error& error,
                std::source_location where = std::source_location::current());

/// Posts an element warning (the stream goes on) and logs it.
void post_warning(GstElement* element, const Error& error,
                  std::source_location where = std::source_location::current());

/// Fills in what GLib's functions report errors by. @param out may be nullptr, or is to be free.
void set_error(GError** out, const Error& error);

}  // namespace keepbox
