// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads files, with errors that name them.
#include "core/base/infile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace keepbox {
namespace {

const char* kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISLNK(mode)  ? "a symbolic link"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

std::unexpected<Error> unopened(const std::string& path, const char* why, std::string hint) {
  return file_error("Cannot read " + path + ": " + why, opening_hint(why, std::move(hint)));
}

/// Opens with O_NONBLOCK, because opening a FIFO would wait for its other end.
Result<PlainFile> open_at(int folder, const std::string& name, int flags, std::string path,
                          std::string hint) {
  PlainFile out{.path = std::move(path)};
  out.file = Descriptor(
      openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (!out.file)
    return unopened(out.path, errno == ELOOP ? "it is a symbolic link" : std::strerror(errno),
                    std::move(hint));
  struct stat status;
  if (fstat(out.file.number(), &status) != 0)
    return unopened(out.path, std::strerror(errno), std::move(hint));
  if (!S_ISREG(status.st_mode)) return not_regular(out.path, status.st_mode, std::move(hint));
  out.bytes = static_cast<size_t>(status.st_size);
  return out;
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

/// Removes what editors on Windows add.
std::string as_plain_text(std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  size_t end = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') text[end++] = text[i];
  text.resize(end);
  return text;
}

}  // namespace

Descriptor::~Descriptor() { close(); }

bool Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0;
}

Status PlainFile::read(size_t offset, std::span<std::byte> out) const {
  const size_t wanted = out.size();
  while (!out.empty()) {
    const ssize_t got = pread(file.number(), out.data(), out.size(),
                              static_cast<off_t>(offset + wanted - out.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unopened(path, std::strerror(errno), "check the disk");
    if (got == 0)
      return reject(ErrorKind::kTruncated,
                    path + " ended at byte " + std::to_string(offset + wanted - out.size()) +
                        " while it was read",
                    "do not change the file while it is read");
    out = out.subspan(static_cast<size_t>(got));
  }
  return {};
}

Result<PlainFile> open_plain(const std::string& path, std::string hint) {
  return open_at(AT_FDCWD, path, 0, path, std::move(hint));
}

Result<PlainFile> open_plain_in(int folder, const std::string& name, std::string path,
                                std::string hint) {
  return open_at(folder, name, O_NOFOLLOW, std::move(path), std::move(hint));
}

Result<std::string> read_text(const std::string& path, size_t max_bytes, std::string hint) {
  KB_ASSIGN(const auto file, open_plain(path, hint));
  if (file.bytes > max_bytes)
    return file_error(path + " has " + std::to_string(file.bytes) + " bytes: the maximum is " +
                          std::to_string(max_bytes),
                      std::move(hint));
  std::string text(file.bytes, '\0');
  KB_TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  if (is_utf16(text))
    return file_error(path + " is UTF-16 text, which Windows calls Unicode; expected UTF-8",
                      "save the file as UTF-8");
  return as_plain_text(std::move(text));
}

std::unexpected<Error> not_regular(const std::string& path, unsigned mode, std::string hint) {
  return file_error(path + " is " + kind_of(mode) + ", not a regular file", std::move(hint));
}

std::unexpected<Error> file_error(std::string what, std::string hint) {
  return reject(ErrorKind::kNoResource, std::move(what), std::move(hint));
}

std::string limit_hint(const std::string& reason, std::string otherwise) {
  // The text of the first contains that of the second.
  constexpr std::pair<int, const char*> kHints[] = {
      {ENFILE, "raise the system's limit of open files (sysctl fs.file-max), or close files"},
      {EMFILE, "raise the limit of open files (ulimit -n), or use fewer elements in a process"}};
  for (const auto& [code, hint] : kHints)
    if (reason.contains(std::strerror(code))) return hint;
  return otherwise;
}

std::string opening_hint(const std::string& reason, std::string otherwise) {
  if (reason.contains(std::strerror(EACCES)))
    return "allow this user to read the file and its folders";
  return limit_hint(reason, std::move(otherwise));
}

}  // namespace keepbox
