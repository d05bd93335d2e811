// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of files, folders and other resources.
#pragma once

#include <glib.h>

#include <string>

#include "core/base/result.h"

namespace keepbox {

/// Returns a kNoResource error.
std::unexpected<Error> file_error(std::string what, std::string hint = {});

/// Returns a kNoResource error for a file that GLib could not read.
std::unexpected<Error> unreadable(const std::string& path, const GError& error, std::string hint);

}  // namespace keepbox
