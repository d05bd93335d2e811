// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes errors of files.
#include "gst/base/fileerror.h"

#include <cerrno>
#include <utility>

namespace keepbox {

std::unexpected<Error> file_error(std::string what, std::string hint) {
  return reject(ErrorKind::kNoResource, std::move(what), std::move(hint));
}

std::string limit_hint(const std::string& reason, std::string otherwise) {
  // The text of the first contains that of the second.
  constexpr std::pair<int, const char*> kHints[] = {
      {ENFILE, "raise the system's limit of open files (sysctl fs.file-max), or close files"},
      {EMFILE, "raise the limit of open files (ulimit -n), or use fewer elements in a process"}};
  for (const auto& [code, hint] : kHints)
    if (reason.contains(g_strerror(code))) return hint;
  return otherwise;
}

std::string opening_hint(const std::string& reason, std::string otherwise) {
  if (reason.contains(g_strerror(EACCES)))
    return "allow this user to read the file and its folders";
  return limit_hint(reason, std::move(otherwise));
}

std::unexpected<Error> unreadable(const std::string& path, const GError& error, std::string hint) {
  return file_error("Cannot read " + path + ": " + error.message, std::move(hint));
}

}  // namespace keepbox
