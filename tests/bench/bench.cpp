// SPDX-License-Identifier: LGPL-2.1-or-later
// Times whole frames on the CPU: every backend, OpenCV after a plain decoding loop, memory reads,
// and in a harness boxdecode and GStreamer's own decoder if available. Prints tables and, with
// --json FILE, writes them.
#include <gst/gst.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "core/base/cpulimits.h"
#include "tests/bench/cpu.h"

namespace keepbox::test {
namespace {

nlohmann::ordered_json json = nlohmann::ordered_json::array();

void report(const Input& input, std::string_view section, const std::vector<Timing>& rows) {
  const auto ours = std::ranges::min(rows, {}, [](const Timing& row) {
    return row.contender.starts_with("simd") ? row.p50 : 1e30;
  });
  std::printf("\n%s: %zu candidates\n  %-28s %10s %10s %8s %6s\n", input.name.c_str(),
              input.candidates, "", "p50 us", "p99 us", "x simd", "boxes");
  for (const Timing& row : rows) {
    std::printf("  %-28s %10.1f %10.1f %8.2f %6zu\n", row.contender.c_str(), row.p50, row.p99,
                row.p50 / ours.p50, row.boxes);
    json.push_back({{"section", section},
                    {"input", input.name},
                    {"contender", row.contender},
                    {"p50_us", row.p50},
                    {"p99_us", row.p99},
                    {"boxes", row.boxes},
                    {"candidates", input.candidates}});
  }
  std::fflush(stdout);
}

void append(std::vector<Timing>& to, std::vector<Timing> rows) {
  std::ranges::move(rows, std::back_inserter(to));
}

bool is_float(const Input& input) { return input.frames[0][0].type == DataType::kFloat32; }

void measure(const Input& input, std::string_view section, bool each_target) {
  std::vector<Timing> rows;
  if (each_target) rows.push_back(time_read(input));
  append(rows, time_backend(input, "simd", each_target));
  append(rows, time_backend(input, "reference", false));
  if (is_float(input) && input.kind != Kind::kOther) append(rows, time_opencv(input));
  if (input.kind != Kind::kOther) append(rows, time_elements(input));
  report(input, section, rows);
}

void measure_threads(const Input& input) {
  std::vector<int> threads;
  for (int count = 1; count <= static_cast<int>(read_cpu_limits().usable()); count *= 2)
    threads.push_back(count);
  std::vector<Timing> rows{time_read(input)};
  append(rows, time_backend(input, "simd", false));
  append(rows, time_elements(input, threads));
  report(input, "threads", rows);
}

void measure_frames() {
  for (const Kind kind : {Kind::kPlanes, Kind::kRows, Kind::kReady, Kind::kSsd})
    for (const bool flushed : {false, true})
      for (const float threshold : {0.25f, 0.001f})
        measure(ordinary(kind, threshold, flushed), "frames", true);
  for (const Kind kind : {Kind::kPlanes, Kind::kRows})
    measure(halved(ordinary(kind, 0.25f, false)), "frames", true);
}

void measure_families() {
  for (const Input& input : families()) measure(input, "families", true);
}

void measure_candidates() {
  for (const size_t candidates : {10, 30, 100, 300, 1000, 3000, 8000})
    measure(crowded(Kind::kPlanes, candidates), "84x8400", false);
  for (const size_t candidates : {10, 30, 100, 300, 1000, 3000, 10000, 25000})
    measure(crowded(Kind::kRows, candidates), "25200x85", false);
}

void measure_nms() {
  for (const size_t count : {10, 30, 100, 300, 1000, 3000, 10000, 30000})
    measure(boxes(count), "NMS alone", false);
}

struct Section {
  const char* name;
  void (*measure)();
};
constexpr Section kSections[] = {{"frames", measure_frames},
                                 {"families", measure_families},
                                 {"threads", [] { measure_threads(large()); }},
                                 {"candidates", measure_candidates},
                                 {"nms", measure_nms}};

}  // namespace
}  // namespace keepbox::test

int main(int argc, char** argv) {
  using namespace keepbox::test;
  gst_init(&argc, &argv);
  std::string_view json_file, only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--json") json_file = argv[i + 1];
    if (std::string_view(argv[i]) == "--only") only = argv[i + 1];
  }
  for (const Section& section : kSections)
    if (only.empty() || only == section.name) section.measure();
  if (!json_file.empty()) std::ofstream(std::string(json_file)) << json.dump(1);
  return 0;
}
