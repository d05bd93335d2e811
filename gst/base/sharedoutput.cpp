// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps one text at a time per device and inode.
#include "gst/base/sharedoutput.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <utility>

namespace keepbox {

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
