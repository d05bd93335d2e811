// SPDX-License-Identifier: LGPL-2.1-or-later
// Processors that this process may use, as its affinity mask and control groups allow.
#pragma once

#include <string>

namespace keepbox {

struct CpuLimits {
  unsigned online = 1;   // of the machine
  unsigned allowed = 1;  // in the affinity mask of the process
  double quota = 0;      // processors' worth of time; 0: not limited

  /// Returns the number of threads that can run at a time, at least 1.
  unsigned usable() const;
  /// True if that is not all of the machine.
  bool limited() const { return usable() < online; }
  /// True if as many busy threads as processors would be stopped by the quota.
  bool throttled() const { return quota > 0 && quota < allowed; }
};

/// Reads the limits of this process.
/// @param root a folder in place of "/", with proc/ and sys/ of Linux. What cannot be read does not
/// limit.
CpuLimits read_cpu_limits(const std::string& root = "");

}  // namespace keepbox
