// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes next to the final name, and renames.
#include "gst/base/outfile.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <utility>

#include "core/base/infile.h"
#include "gst/base/error.h"

namespace keepbox {
namespace {

constexpr mode_t kMode = 0666;  // before the umask
constexpr const char* kOtherPath = "set location= to a different path";

/// True for devices and FIFOs, and for links of /dev to a process's open files.
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

/// Resolves links, so that a link's target is replaced and not the link.
std::string without_links(const std::string& path) {
  std::error_code missing;
  const auto target = std::filesystem::canonical(path, missing);
  return missing ? path : target.string();
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::unexpected<Error> unwritable(const std::string& name, int reason) {
  const std::string why = g_strerror(reason);
  return file_error("Cannot write " + name + ": " + why,
                    limit_hint(why, "set location= to a file in a writable folder"));
}

}  // namespace

/// Writes as much as there is room for, even if waits are interrupted.
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

Status OutFile::failed(const std::string& what) const {
  const std::string reason = what + ": " + g_strerror(errno);
  if (part_.empty()) return file_error(reason, "nothing more is written");
  return file_error(reason, "the incomplete output stays in " + part_);
}

Result<OutFile> OutFile::open(const std::string& path, const Interrupt* interrupt) {
  if (path.empty()) return file_error("location= is not set", "set it to a file");
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

/// Opens for appending, because /dev/stdout may be a log shared with others, and with O_NONBLOCK,
/// because opening a FIFO would wait for its other end.
Status OutFile::open_directly() {
  Descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status;
  if (!file && errno == ENXIO && stat(path_.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
    return file_error("The FIFO " + path_ + " has no reader", "start the reader first");
  if (file) file_.reset(fdopen(file.number(), "a"));
  if (!file_) return file_error("Cannot write " + path_ + ": " + g_strerror(errno), kOtherPath);
  shared_ = SharedOutput::of(file.release());
  return {};
}

/// Opens a file and locks it for writing. std::nullopt if the name was given to another file in the
/// meantime.
Result<std::optional<Descriptor>> OutFile::lock(const std::string& name, int flags) const {
  Descriptor file(
      ::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, kMode));
  int reason = errno;
  struct stat status, named;
  if ((file ? fstat(file.number(), &status) : lstat(name.c_str(), &status)) == 0 &&
      !S_ISREG(status.st_mode))
    return not_regular(name, status.st_mode, kOtherPath);
  if (file && flock(file.number(), LOCK_EX | LOCK_NB) == 0) {
    if (lstat(name.c_str(), &named) == 0 && is_same(status, named)) return file;
    return std::nullopt;
  }
  if (file) reason = errno;
  if (reason == EWOULDBLOCK)
    return file_error("Another writer uses " + path_, "set a different location= for each");
  if (reason == ENOENT && (flags & O_CREAT) != 0)
    return file_error("There is no folder " + folder_of(name),
                      "create it, or set another location=");
  return unwritable(name, reason);
}

/// Locks the part; content of an earlier writer is kept under another name.
Result<Descriptor> OutFile::lock_part() {
  for (;;) {
    KB_ASSIGN(auto file, lock(part_, O_CREAT));
    struct stat status;
    if (!file || fstat(file->number(), &status) != 0) continue;
    if (status.st_size == 0) return std::move(*file);
    KB_TRY(keep_older());
  }
}

/// @pre part_ is locked, so that no other writer does the same.
Status OutFile::keep_older() {
  struct stat there;
  int number = 1;
  const auto name = [&] { return part_ + '.' + std::to_string(number); };
  while (lstat(name().c_str(), &there) == 0) ++number;
  if (std::rename(part_.c_str(), name().c_str()) != 0) return unwritable(part_, errno);
  kept_ = name();
  return {};
}

Status OutFile::open_part() {
  KB_ASSIGN(auto file, lock_part());
  return take(std::move(file));
}

/// Writes to a file from offset body_size_ on.
Status OutFile::take(Descriptor file) {
  struct stat status;
  if (ftruncate(file.number(), body_size_) != 0 ||
      lseek(file.number(), body_size_, SEEK_SET) != body_size_ ||
      fstat(file.number(), &status) != 0)
    return unwritable(part_, errno);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  file_.reset(fdopen(file.release(), "w"));
  return {};
}

Status OutFile::write(std::string_view text) {
  size_ += text.size();
  if (part_.empty()) {
    direct_.waiting += text;
    return write_directly();
  }
  if (text.empty()) return {};
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
      std::fflush(file_.get()) == 0)
    return {};
  return failed("Cannot write " + std::to_string(text.size()) + " more bytes to " + path_);
}

Status OutFile::write_directly() {
  std::fflush(file_.get());  // earlier output of other code
  const int file = fileno(file_.get());
  while (pending() && interrupt_->await_room(file)) {
    errno = shared_->write_piece(file, direct_);
    if (errno != 0) return failed("Cannot write more text to " + path_);
  }
  return {};
}

Status OutFile::finish(std::string_view tail) {
  if (!part_.empty()) body_size_ = std::ftell(file_.get());
  tail_ = tail.size();
  KB_TRY(write(tail));
  size_ -= tail.size();
  if (part_.empty()) return {};
  if (fsync(fileno(file_.get())) != 0) return failed("Cannot store " + path_);
  // Renamed under the lock, so that the next writer detects the new name.
  if (std::rename(part_.c_str(), path_.c_str()) != 0)
    return failed("Cannot rename " + part_ + " to " + path_);
  file_.reset();
  return {};
}

void OutFile::discard() {
  if (part_.empty() || !file_) return;
  unlink(part_.c_str());
  file_.reset();
}

Status OutFile::resume() {
  if (part_.empty() && tail_ == 0) return {};
  if (part_.empty())
    return file_error("There are frames after the end of " + path_,
                      "set location= to a regular file, or use a format with lines instead of one "
                      "array");
  // Locking the future name keeps other writers out until the file has it.
  KB_ASSIGN(auto name, lock_part());
  auto whole = lock_finished();
  if (whole && std::rename(path_.c_str(), part_.c_str()) == 0) return take(std::move(*whole));
  const std::string reason = whole ? g_strerror(errno) : "another file or writer has its name now";
  unlink(part_.c_str());
  return file_error("Cannot continue " + path_ + ": " + reason,
                    "do not move the file until the pipeline has stopped");
}

/// Locks the file that finish() renamed, unless its name belongs to another file now.
Result<Descriptor> OutFile::lock_finished() const {
  KB_ASSIGN(auto file, lock(path_, 0));
  struct stat status;
  if (!file || fstat(file->number(), &status) != 0 || status.st_dev != device_ ||
      status.st_ino != inode_)
    return file_error("It is a different file now");
  return std::move(*file);
}

std::optional<Error> OutFile::older() const {
  if (kept_.empty()) return std::nullopt;
  return problem(ErrorKind::kMismatch,
                 "An earlier run left the unfinished file " + part_ + ", which is now " + kept_,
                 "rename it to use its content, or remove it");
}

std::shared_ptr<SharedOutput> SharedOutput::of(int file) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<SharedOutput>> all;
  struct stat status;
  if (fstat(file, &status) != 0) return std::make_shared<SharedOutput>();
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedOutput>& known = all[{status.st_dev, status.st_ino}];
  auto out = known.lock();
  if (out == nullptr) known = out = std::make_shared<SharedOutput>();
  return out;
}

/// Returns the maximum piece: a pipe with room accepts PIPE_BUF bytes without waiting; O_NONBLOCK
/// can only be set on files of our own. Regular files never wait.
size_t SharedOutput::piece_of(int file) const {
  struct stat status;
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  return std::min<size_t>(text_.size() - done_, regular ? SSIZE_MAX : PIPE_BUF);
}

int SharedOutput::write_piece(int file, DirectText& text) {
  const std::lock_guard lock(mutex_);
  // Another writer may have used the room in the meantime.
  pollfd now{.fd = file, .events = POLLOUT, .revents = 0};
  if (::poll(&now, 1, 0) <= 0) return 0;
  if (done_ == text_.size()) {
    text_ = std::exchange(text.waiting, {});
    done_ = 0;
    text.number = ++number_;
  }
  const ssize_t written = ::write(file, text_.data() + done_, piece_of(file));
  if (written < 0) return errno == EINTR || errno == EAGAIN ? 0 : errno;
  done_ += static_cast<size_t>(written);
  return 0;
}

bool SharedOutput::is_written(const DirectText& text) const {
  const std::lock_guard lock(mutex_);
  return text.waiting.empty() && (text.number < number_ || done_ == text_.size());
}

}  // namespace keepbox
