// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes errors of files.
#include "gst/base/fileerror.h"

#include <utility>

namespace keepbox {

std::unexpected<Error> file_error(std::string what, std::string hint) {
  return reject(ErrorKind::kNoResource, std::move(what), std::move(hint));
}

std::unexpected<Error> unreadable(const std::string& path, const GError& error, std::string hint) {
  return file_error("Cannot read " + path + ": " + error.message, std::move(hint));
}

}  // namespace keepbox
