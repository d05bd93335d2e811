// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes beside the final name, and renames.
#include "gst/base/outfile.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "gst/base/error.h"
#include "gst/base/plainfile.h"

namespace keepbox {
namespace {

constexpr mode_t kMode = 0666;  // less the umask
constexpr int kMostDigits = 18;
constexpr const char* kOtherPath = "set location= to another path";

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

/// What there is room for is written also while nobody waits.
bool Interrupt::await_room(int file) const {
  pollfd now{.fd = file, .events = POLLOUT, .revents = 0};
  if (::poll(&now, 1, 0) > 0) return true;
  GstPollFD later = GST_POLL_FD_INIT;
  later.fd = file;
  gst_poll_add_fd(poll_, &later);
  gst_poll_fd_ctl_write(poll_, &later, TRUE);
  int ready = 0;
  do ready = gst_poll_wait(poll_, GST_CLOCK_TIME_NONE);
  while (ready < 0 && (errno == EINTR || errno == EAGAIN));
  gst_poll_remove_fd(poll_, &later);
  return ready > 0;
}

void OutFile::Closer::operator()(FILE* file) const {
  if (file != stdout) std::fclose(file);
}

Status OutFile::failed(const std::string& expected) const {
  const std::string reason = g_strerror(errno);
  if (part_.empty()) return file_error(expected, reason, "what follows is not written");
  return file_error(expected, reason,
                    "what was written before stays in " + part_ + " and is not complete");
}

Result<OutFile> OutFile::open(const std::string& path, const Interrupt* interrupt) {
  if (path.empty()) return file_error("the path of a file", "none", "set location=");
  OutFile out;
  out.path_ = path;
  out.interrupt_ = interrupt;
  if (interrupt != nullptr && path == "-") {
    out.file_.reset(stdout);
    out.shared_ = SharedOutput::of(fileno(stdout));
  } else if (interrupt != nullptr && written_directly(path)) {
    KB_TRY(out.open_directly());
  } else {
    struct stat status;
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      return not_regular(path, status.st_mode, kOtherPath);
    out.path_ = without_links(path);
    out.part_ = out.path_ + ".part";
    KB_TRY(out.open_part());
  }
  return out;
}

/// Appending, because /dev/stdout may be a log that others write to. O_NONBLOCK, because opening a
/// FIFO waits for its other end.
Status OutFile::open_directly() {
  Descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status;
  if (!file && errno == ENXIO && stat(path_.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
    return file_error("somebody who reads the FIFO " + path_, "nobody", "start the reader first");
  if (file) file_.reset(fdopen(file.number(), "a"));
  if (!file_) return file_error("a writable " + path_, g_strerror(errno), kOtherPath);
  shared_ = SharedOutput::of(file.release());
  return {};
}

Status OutFile::open_part() {
  Descriptor file(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                         kMode));
  int reason = errno;
  struct stat status;
  if ((file ? fstat(file.number(), &status) : lstat(part_.c_str(), &status)) == 0 &&
      !S_ISREG(status.st_mode))
    return not_regular(part_, status.st_mode, kOtherPath);
  if (file && flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
      ftruncate(file.number(), whole_) == 0 &&
      lseek(file.number(), whole_, SEEK_SET) == whole_) {
    file_.reset(fdopen(file.release(), "w"));
    return {};
  }
  if (file) reason = errno;
  if (reason == EWOULDBLOCK)
    return file_error("no other writer of " + path_, "one", "set another location= for each");
  if (reason == ENOENT)
    return file_error("the folder " + folder_of(part_), "none",
                      "make it, or set another location=");
  return file_error("a writable " + part_, g_strerror(reason),
                    "set location= to a file in a folder that can be written to");
}

Status OutFile::write(std::string_view text) {
  if (part_.empty()) {
    direct_.waiting += text;
    return write_directly();
  }
  if (text.empty()) return {};
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
      std::fflush(file_.get()) == 0)
    return {};
  return failed("room for " + std::to_string(text.size()) + " more bytes in " + path_);
}

Status OutFile::write_directly() {
  std::fflush(file_.get());  // what others printed
  const int file = fileno(file_.get());
  while (pending() && interrupt_->await_room(file)) {
    errno = shared_->write_piece(file, direct_);
    if (errno != 0) return failed("room for more text in " + path_);
  }
  return {};
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
