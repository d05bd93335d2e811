// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes errors of files.
#include "gst/base/fileerror.h"

#include <utility>

namespace keepbox {

std::unexpected<Error> file_error(std::string expected, std::string found, std::string hint) {
  return fail(ErrorKind::kNoResource, std::move(expected), std::move(found), std::move(hint));
}

std::unexpected<Error> unreadable(std::string expected, const GError& error, std::string hint) {
  return file_error(std::move(expected), "an error (" + std::string(error.message) + ")",
                    std::move(hint));
}

}  // namespace keepbox
