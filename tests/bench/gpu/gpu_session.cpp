// SPDX-License-Identifier: LGPL-2.1-or-later
// Times calls, and stores the rows of the table.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kCalls = 600;
constexpr size_t kFewestCalls = 8;
constexpr size_t kWarmUp = 2 * kTensors;
constexpr double kEnough = 1e6;                 // microseconds
constexpr size_t kScratch = size_t{256} << 20;  // more than any L2 cache

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json{
      {"section", row.section}, {"input", row.input}, {"contender", row.contender},
      {"state", row.state},     {"check", row.check}, {"p50_us", row.p50},
      {"p99_us", row.p99},      {"calls", row.calls}, {"candidates", row.candidates},
      {"boxes", row.boxes}};
  if (row.gb_per_s > 0) json["gb_per_s"] = row.gb_per_s;
  if (row.frames_per_s > 0) json["frames_per_s"] = row.frames_per_s;
  if (row.cpu_us > 0) json["cpu_us"] = row.cpu_us;
  return json;
}

void print(const Row& row) {
  std::printf("  %-52s %-8s %10.1f %10.1f %6zu", row.contender.c_str(), row.state.c_str(), row.p50,
              row.p99, row.calls);
  if (!row.check.empty()) std::printf(" %6zu  %s", row.boxes, row.check.c_str());
  if (row.gb_per_s > 0) std::printf("  %.0f GB/s", row.gb_per_s);
  if (row.frames_per_s > 0) std::printf("  %.0f frames/s", row.frames_per_s);
  if (row.cpu_us > 0) std::printf("  %.1f us of CPU a frame", row.cpu_us);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

Times times_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  const size_t count = microseconds.size();
  return {microseconds[count / 2], microseconds[count * 99 / 100], count};
}

Times timed(const std::function<void(size_t)>& before, const std::function<void(size_t)>& work) {
  const auto start = Clock::now();
  for (size_t i = 0; i < kWarmUp && since(start) < kEnough / 4; ++i) work(i);
  std::vector<double> times;
  times.reserve(kCalls);
  double spent = 0;
  for (size_t i = 0; i < kCalls && (spent < kEnough || i < kFewestCalls); ++i) {
    if (before) before(i);
    const auto started = Clock::now();
    work(i);
    times.push_back(since(started));
    spent += times.back();
  }
  return times_of(std::move(times));
}

Session::Session(std::string dump)
    : dump_(std::move(dump)), scratch_(kScratch), sink_(sizeof(float)) {}

void Session::add(Row row) {
  const std::string heading = row.section + (row.input.empty() ? "" : ": ") + row.input;
  if (heading != heading_) {
    std::printf("\n%s", heading.c_str());
    if (row.candidates > 0) std::printf(" (%zu candidates)", row.candidates);
    std::printf("\n  %-52s %-8s %10s %10s %6s\n", "", "L2 cache", "p50 us", "p99 us", "calls");
    heading_ = heading;
  }
  print(row);
  agreed_ = agreed_ && !row.check.starts_with("DIFFERS");
  rows_.push_back(std::move(row));
}

void Session::write(const std::string& path) const {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row& row : rows_) json.push_back(to_json(row));
  std::ofstream(path) << json.dump(1) << '\n';
}

void Session::write_manifest() const {
  if (!dump_.empty()) std::ofstream(dump_ + "/manifest.json") << manifest_.dump(1) << '\n';
}

void Session::warm(const DeviceBuffer& buffer) const {
  launch_read(buffer, sink_, nullptr);
  KB_CUDA(cudaDeviceSynchronize());
}

void Session::flush() const {
  KB_CUDA(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), nullptr));
  KB_CUDA(cudaDeviceSynchronize());
}

}  // namespace keepbox::test::gpu
