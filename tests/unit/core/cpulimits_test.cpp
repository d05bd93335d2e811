// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits of a process's processors, from files as Linux shows them.
#include "core/base/cpulimits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

class LimitsInFiles : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path().string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void allow(const std::string& list) {
    write("/proc/self/status",
          "Name:\ttest\nCpus_allowed:\tff\nCpus_allowed_list:\t" + list + "\n");
  }
  CpuLimits read() { return read_cpu_limits(root_.path().string()); }

  test::TempDir root_;
};

TEST_F(LimitsInFiles, AreTheMachinesIfNothingIsKnown) {
  const CpuLimits found = read();
  EXPECT_EQ(found.allowed, std::max(1u, std::thread::hardware_concurrency()));
  EXPECT_EQ(found.usable(), found.allowed);
  EXPECT_FALSE(found.limited());
  EXPECT_FALSE(found.throttled());
}

TEST_F(LimitsInFiles, CountTheAffinityMask) {
  const std::pair<const char*, unsigned> lists[] = {
      {"0", 1}, {"0-63", 64}, {"1,3", 2}, {"0-3,8-11,15", 9}};
  for (const auto& [list, count] : lists) {
    allow(list);
    EXPECT_EQ(read().usable(), count) << list;
  }
}

TEST_F(LimitsInFiles, RoundTheQuotaUp) {
  allow("0-15");
  write("/proc/self/cgroup", "0::/app\n");
  const std::tuple<const char*, double, unsigned> quotas[] = {
      {"150000 100000", 1.5, 2}, {"20000 100000", 0.2, 1},   {"400000 100000", 4, 4},
      {"max 100000", 0, 16},     {"3200000 100000", 32, 16}, {"", 0, 16}};
  for (const auto& [text, quota, usable] : quotas) {
    write("/sys/fs/cgroup/app/cpu.max", text);
    const CpuLimits found = read();
    EXPECT_DOUBLE_EQ(found.quota, quota) << text;
    EXPECT_EQ(found.usable(), usable) << text;
    EXPECT_EQ(found.throttled(), usable < 16) << text;
  }
}

TEST_F(LimitsInFiles, AreTheLeastOfAllGroupsAbove) {
  allow("0-15");
  write("/proc/self/cgroup", "0::/a.slice/b/c\n");
  write("/sys/fs/cgroup/a.slice/b/c/cpu.max", "800000 100000\n");
  write("/sys/fs/cgroup/a.slice/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n");
  EXPECT_EQ(read().usable(), 3u);
  write("/sys/fs/cgroup/cpu.max", "250000 50000\n");
  EXPECT_EQ(read().usable(), 3u);
  write("/sys/fs/cgroup/a.slice/b/c/cpu.max", "100000 100000\n");
  EXPECT_EQ(read().usable(), 1u);
}

TEST_F(LimitsInFiles, OfTheFirstVersion) {
  allow("0-15");
  write("/proc/self/cgroup", "9:name=systemd:/s\n5:cpuset:/x\n4:cpu,cpuacct:/docker/id\n0::/\n");
  write("/sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/id/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/id/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read().usable(), 16u);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/id/cpu.cfs_quota_us", "550000\n");
  EXPECT_EQ(read().usable(), 6u);
  write("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "25000\n");
  EXPECT_EQ(read().usable(), 2u) << "under the other name";
}

/// The path is the host's, and the container's folder is its own group.
TEST_F(LimitsInFiles, OfAContainer) {
  allow("0-15");
  for (const char* path : {"0::/docker/1234\n", "0::/../../1234\n", "0::/\n"}) {
    write("/proc/self/cgroup", path);
    write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    EXPECT_EQ(read().usable(), 2u) << path;
  }
}

TEST_F(LimitsInFiles, IgnoreWhatIsNotOfThatForm) {
  allow("none");
  write("/proc/self/cgroup", "\n:\n::\n0:\n0::\n4:cpu\nx:cpu:y\n");
  write("/sys/fs/cgroup/cpu.max", "-5 0\n");
  const CpuLimits found = read();
  EXPECT_EQ(found.quota, 0);
  EXPECT_FALSE(found.limited());
}

TEST(CpuLimits, AreThoseOfThisProcess) {
  const CpuLimits found = read_cpu_limits();
  EXPECT_GE(found.usable(), 1u);
  EXPECT_LE(found.allowed, found.online);
}

}  // namespace
}  // namespace keepbox
