// SPDX-License-Identifier: LGPL-2.1-or-later
// Locks a recording's folder, and reads and writes whole files in it.
#include "gst/recording/folder.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "gst/base/error.h"
#include "gst/base/fileerror.h"

namespace keepbox {
namespace {

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr const char* kTooLong = "more than 1 MiB";
constexpr const char* kReadHint = "set location= to a recording or a file of raw numbers";
constexpr const char* kWriteHint = "set location= to a folder on a disk with room";
constexpr const char* kOtherHint = "set location= to another path";

std::unexpected<Error> write_failed(const std::string& path) {
  const std::string why = g_strerror(errno);
  return file_error("Cannot write " + path + ": " + why, limit_hint(why, kWriteHint));
}

Status write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return write_failed(path);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

}  // namespace

Status each_line(const PlainFile& file,
                 const std::function<Status(size_t, std::string_view)>& function) {
  std::vector<std::byte> block(size_t{1} << 16);
  std::string rest;
  size_t number = 0;
  const auto broken = [&](const char* found) {
    return fail(ErrorKind::kTruncated,
                "text on line " + std::to_string(number + 1) + " of " + file.path, found,
                "record it again");
  };
  for (size_t at = 0; at < file.bytes || !rest.empty();) {
    const size_t size = std::min(block.size(), file.bytes - at);
    KB_TRY(file.read(at, std::span(block).first(size)));
    at += size;
    rest.append(reinterpret_cast<const char*>(block.data()), size);
    if (at == file.bytes && !rest.ends_with('\n')) rest += '\n';
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      const std::string_view line = std::string_view(rest).substr(begin, end - begin);
      if (line.contains('\0')) return broken("a NUL");
      if (line.size() > kLongestLine) return broken(kTooLong);
      ++number;
      if (!line.empty()) KB_TRY(function(number, line));
    }
    rest.erase(0, begin);
    if (rest.size() > kLongestLine) return broken(kTooLong);
  }
  return {};
}

Result<Folder> Folder::open(const std::string& path, Use use) {
  Folder out;
  out.path_ = path;
  out.folder_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder_) {
    const std::string why = g_strerror(errno);
    return file_error("Cannot open the folder " + path + ": " + why,
                      limit_hint(why, use == Use::kRead ? kReadHint : kWriteHint));
  }
  const int lock = use == Use::kRead ? LOCK_SH : LOCK_EX;
  // Other errors mean that the file system has no locks.
  if (flock(out.folder_.number(), lock | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return file_error((use == Use::kRead ? "Another process records to "
                                         : "Another process replays or records ") +
                          path,
                      "set a different location= for each");
  return out;
}

std::string Folder::path_of(const std::string& name) const {
  g_autofree gchar* path = g_build_filename(path_.c_str(), name.c_str(), nullptr);
  return path;
}

Result<PlainFile> Folder::read(const std::string& name) const {
  return open_plain_in(folder_.number(), name, path_of(name), kReadHint);
}

Status Folder::check(const std::string& name) const {
  struct stat status;
  if (fstatat(folder_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(status.st_mode))
    return not_regular(path_of(name), status.st_mode, kOtherHint);
  return {};
}

bool Folder::has(const std::string& name) const {
  return faccessat(folder_.number(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void Folder::remove(const std::string& name) const { unlinkat(folder_.number(), name.c_str(), 0); }

std::vector<std::string> Folder::names() const {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(path_, error))
    if (each.symlink_status(error).type() == std::filesystem::file_type::regular)
      out.push_back(each.path().filename());
  return out;
}

Status Folder::write(const std::string& name,
                     std::span<const std::span<const std::byte>> parts) const {
  KB_TRY(check(name));
  remove(name);  // O_EXCL creates a new file, even if the old one's data is shared
  Descriptor file(openat(folder_.number(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) return write_failed(path_of(name));
  for (const auto part : parts) KB_TRY(write_all(file.number(), part, path_of(name)));
  if (!file.close()) return write_failed(path_of(name));
  return {};
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') &&
         !name.contains('\0');
}

}  // namespace keepbox
