// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes beside the final name, and renames.
#include "gst/base/outfile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "gst/base/error.h"

namespace keepbox {
namespace {

constexpr mode_t kMode = 0666;  // less the umask
constexpr int kMostDigits = 18;

/// Devices and FIFOs, and the links of /dev that stand for a process's own open files.
bool written_directly(const std::string& path) {
  struct stat target, link;
  if (stat(path.c_str(), &target) != 0) return false;
  if (!S_ISREG(target.st_mode)) return true;
  const bool system = path.starts_with("/dev/") || path.starts_with("/proc/");
  return system && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
}

std::string folder_of(const std::string& path) {
  g_autofree gchar* folder = g_path_get_dirname(path.c_str());
  return folder;
}

/// So that the file a link points to is replaced, and not the link.
std::string without_links(const std::string& path) {
  std::error_code missing;
  const auto target = std::filesystem::canonical(path, missing);
  return missing ? path : target.string();
}

}  // namespace

void OutFile::Closer::operator()(FILE* file) const {
  if (file != stdout) std::fclose(file);
}

Status OutFile::failed(const std::string& expected) const {
  const std::string reason = g_strerror(errno);
  if (part_.empty()) return file_error(expected, reason, "what follows is not written");
  return file_error(expected, reason,
                    "what was written before stays in " + part_ + " and is not complete");
}

Result<OutFile> OutFile::open(const std::string& path) {
  if (path.empty()) return file_error("the path of a file", "none", "set location=");
  OutFile out;
  out.path_ = path;
  if (path == "-") {
    out.file_.reset(stdout);
    return out;
  }
  if (written_directly(path)) {
    // Appending, because /dev/stdout may be a log that others write to.
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) out.file_.reset(fdopen(fd, "a"));
  } else {
    out.path_ = without_links(path);
    out.part_ = out.path_ + ".part";
    KB_TRY(out.open_part());
  }
  if (!out.file_)
    return file_error("a writable " + path, g_strerror(errno), "set location= to another path");
  return out;
}

Status OutFile::open_part() {
  const int fd = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && ftruncate(fd, whole_) == 0 &&
      lseek(fd, whole_, SEEK_SET) == whole_) {
    file_.reset(fdopen(fd, "w"));
    return {};
  }
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  if (reason == EWOULDBLOCK)
    return file_error("no other writer of " + path_, "one", "set another location= for each");
  if (reason == ENOENT)
    return file_error("the folder " + folder_of(part_), "none",
                      "make it, or set another location=");
  return file_error("a writable " + part_, g_strerror(reason),
                    "set location= to a file in a folder that can be written to");
}

Status OutFile::write(std::string_view text) {
  if (text.empty()) return {};
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
      std::fflush(file_.get()) == 0)
    return {};
  return failed("room for " + std::to_string(text.size()) + " more bytes in " + path_);
}

Status OutFile::finish(std::string_view tail) {
  if (!part_.empty()) whole_ = std::ftell(file_.get());
  tail_ = tail.size();
  KB_TRY(write(tail));
  if (part_.empty()) return {};
  const bool stored = fsync(fileno(file_.get())) == 0;
  const bool closed = std::fclose(file_.release()) == 0;
  if (!stored || !closed) return failed(path_ + " stored");
  if (std::rename(part_.c_str(), path_.c_str()) != 0)
    return failed(part_ + " renamed to " + path_);
  return {};
}

Status OutFile::resume() {
  if (part_.empty() && tail_ == 0) return {};
  if (part_.empty())
    return file_error("no frames after the end of " + path_, "one",
                      "set location= to a regular file, or write lines instead of one array");
  if (std::rename(path_.c_str(), part_.c_str()) != 0)
    return file_error(path_ + ", to go on with it", g_strerror(errno),
                      "leave the file where it is until the pipeline has stopped");
  return open_part();
}

Result<NumberedName> NumberedName::parse(std::string_view pattern) {
  const auto error = [&] {
    return fail(ErrorKind::kInvalid, "one %d or %0Nd in the location, and no other %",
                '"' + std::string(pattern) + '"',
                "set location= to a name with the frame's number, as labels/%06d.txt");
  };
  const size_t percent = pattern.find('%');
  if (percent == pattern.npos) return error();
  NumberedName out;
  out.before_ = pattern.substr(0, percent);
  std::string_view rest = pattern.substr(percent + 1);
  if (rest.starts_with('0')) {
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), out.digits_);
    if (bad != std::errc{} || out.digits_ < 1 || out.digits_ > kMostDigits) return error();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  if (!rest.starts_with('d') || rest.find('%') != rest.npos) return error();
  out.after_ = rest.substr(1);
  return out;
}

std::string NumberedName::of(int64_t number) const {
  const std::string text = std::to_string(number);
  const size_t zeros = text.size() < digits_ ? digits_ - text.size() : 0;
  return before_ + std::string(zeros, '0') + text + after_;
}

}  // namespace keepbox
