// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of files, folders and other resources.
#pragma once

#include <glib.h>

#include <string>

#include "core/base/result.h"

namespace keepbox {

/// Returns a kNoResource error.
std::unexpected<Error> file_error(std::string what, std::string hint = {});

/// Returns what to do if too many files are open. @param reason the system's text. @param otherwise
/// returned for other reasons.
std::string limit_hint(const std::string& reason, std::string otherwise);

/// Returns what to do about a file that is there and that the system does not open for reading: as
/// limit_hint(), or that it may not be read.
std::string opening_hint(const std::string& reason, std::string otherwise);

/// Returns a kNoResource error for a file that GLib could not read.
std::unexpected<Error> unreadable(const std::string& path, const GError& error, std::string hint);

}  // namespace keepbox
