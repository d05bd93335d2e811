// SPDX-License-Identifier: LGPL-2.1-or-later
// Choice of a session for each element of a model that has several.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

namespace keepbox {

/// Counts the users of sessions side by side. Thread-safe.
class Lanes {
 public:
  /// Adds a user to the session that has the fewest, the first one of several. @param count of
  /// sessions, at least 1. @return the session's number.
  unsigned take(unsigned count) {
    const std::lock_guard guard(lock_);
    if (users_.size() < count) users_.resize(count);
    const auto least = std::min_element(users_.begin(), users_.begin() + count);
    ++*least;
    return static_cast<unsigned>(least - users_.begin());
  }

  /// Removes a user that take() added.
  void leave(unsigned lane) {
    const std::lock_guard guard(lock_);
    --users_[lane];
  }

 private:
  std::mutex lock_;
  std::vector<unsigned> users_;  // by session
};

}  // namespace keepbox
