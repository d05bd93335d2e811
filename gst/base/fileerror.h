// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors of an element's surroundings: a file, a folder.
#pragma once

#include <glib.h>

#include <string>

#include "core/result.h"

namespace keepbox {

/// kNoResource.
std::unexpected<Error> file_error(std::string expected, std::string found, std::string hint);

/// The same for what GLib says of a file that cannot be read.
std::unexpected<Error> unreadable(std::string expected, const GError& error, std::string hint);

}  // namespace keepbox
