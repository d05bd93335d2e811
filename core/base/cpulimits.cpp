// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads what Linux shows about a process's processors, with control groups of both versions.
#include "core/base/cpulimits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace keepbox {
namespace {

/// Returns the number of processors in a list such as "0-3,8"; 0 if it is none.
unsigned count_of(const std::string& list) {
  unsigned out = 0, first = 0, last = 0;
  char separator = 0;
  std::istringstream in(list);
  while (in >> first) {
    last = first;
    if (in.peek() == '-' && !(in >> separator >> last)) return 0;
    if (last < first) return 0;
    out += last - first + 1;
    in >> separator;
  }
  return out;
}

unsigned allowed_processors(const std::string& root) {
  const std::string key = "Cpus_allowed_list:";
  std::ifstream status(root + "/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return count_of(line.substr(key.size()));
  return 0;
}

/// Returns the quota of one group; 0 if it has none.
double quota_of(const std::string& folder) {
  double time = 0, period = 0;
  std::ifstream second(folder + "/cpu.max");
  if (!(second >> time >> period)) {  // "max" is not a number
    std::ifstream(folder + "/cpu.cfs_quota_us") >> time;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return time > 0 && period > 0 ? time / period : 0;
}

/// Returns the smaller of two quotas, of which 0 is none.
double lesser(double one, double other) {
  return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

/// Returns the least quota of a group and those above it. In a container the path may be the
/// host's: then only its last parts exist, or none.
/// @param path of the group below `mount`; begins with a slash.
double least_quota(const std::string& mount, std::string path) {
  double out = 0;
  for (;;) {
    out = lesser(out, quota_of(mount + path));
    if (path.empty()) return out;
    path.erase(std::min(path.rfind('/'), path.size()));
  }
}

/// Returns the least quota of the process's groups. Lines are "number:controllers:path", and the
/// second version's is "0::path".
double quota_of_process(const std::string& root) {
  double out = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t before = line.find(':'), after = line.find(':', before + 1);
    if (after >= line.size() - 1 || line[after + 1] != '/') continue;
    const std::string names = line.substr(before + 1, after - before - 1);
    if (!names.empty() && !("," + names + ",").contains(",cpu,")) continue;
    // The second version has one mount; that of the first is named after its controllers.
    const std::string mounts = root + "/sys/fs/cgroup", path = line.substr(after + 1);
    const std::string mount = names.empty() ? mounts : mounts + "/" + names;
    out = lesser(out, least_quota(mount, path));
    if (!names.empty()) out = lesser(out, least_quota(mounts + "/cpu", path));
  }
  return out;
}

}  // namespace

unsigned CpuLimits::usable() const {
  if (quota <= 0 || quota >= allowed) return allowed;
  return std::max(1u, static_cast<unsigned>(std::ceil(quota)));
}

CpuLimits read_cpu_limits(const std::string& root) {
  CpuLimits out;
  out.online = std::max(1u, std::thread::hardware_concurrency());
  out.allowed = allowed_processors(root);
  if (out.allowed == 0) out.allowed = out.online;
  out.quota = quota_of_process(root);
  return out;
}

}  // namespace keepbox
