// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts core's Error to an element message or a GError.
#pragma once

#include <gst/gst.h>

#include <source_location>
#include <span>

#include "core/base/infile.h"
#include "core/base/result.h"

namespace keepbox {

/// Posts an element error (the stream will stop) and logs it, with the location in the code.
void post_error(GstElement* element, const Error& error,
                std::source_location where = std::source_location::current());

/// Posts an element warning (the stream continues) and logs it.
void post_warning(GstElement* element, const Error& error,
                  std::source_location where = std::source_location::current());

/// Posts each of some warnings.
void post_warnings(GstElement* element, std::span<const Error> errors,
                   std::source_location where = std::source_location::current());

/// Fills in a GError. @param out nullptr, or points to nullptr.
void set_error(GError** out, const Error& error);

/// Posts a warning that a property keeps its text, because an invalid one was set.
void warn_kept(GObject* element, const GParamSpec* spec, Error error);

}  // namespace keepbox
