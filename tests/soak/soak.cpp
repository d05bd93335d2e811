// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs hundreds of thousands of frames, trackers, hundreds of starts and restarts of parallel
// pipelines, and pipelines that come and go, and checks that memory, descriptors and threads do not
// grow.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/soak/line.h"
#include "tests/soak/streams.h"
#include "tests/soak/tracks.h"
#include "tests/soak/usage.h"
#include "tests/soak/visits.h"
#include "tests/tempdir.h"

namespace keepbox::soak {
namespace {

constexpr const char* kUsage =
    "usage: soak [--frames N] [--tracks N] [--cycles N] [--model FILE [--restarts N] [--visits "
    "N]]\n"
    "            [--json FILE]\n"
    "Passes N frames in one run, follows a crowd for N frames, then starts and stops N times, then "
    "restarts pipelines with a\n"
    "shared model N times, then passes N frames through shared models in pipelines that come and\n"
    "go; exits with 1 if memory, descriptors or threads grew.\n";

struct Options {
  uint64_t frames = 1'000'000, tracks = 1'000'000, cycles = 1000, restarts = 1000, visits = 100'000;
  std::string model, json;
};

constexpr uint64_t kSamples = 250;
constexpr uint64_t kCycleFrames = 12;

/// Limit for the total growth of a number after the warm-up: frames in flight cause some noise, and
/// pages come and go. A leaked chunk of malloc has at least 32 bytes.
struct Bound {
  const char* name;
  double Usage::* number;
  double frames, tracks, cycles, restarts, visits;
  bool steps;  // may rise once, by a one-time allocation
};

constexpr double kKilo = 1024;
constexpr Bound kBounds[] = {
    {"heap", &Usage::heap, 8 * kKilo, 8 * kKilo, 1 * kKilo, 16 * kKilo, 16 * kKilo, true},
    // the threads' working set depends on the load of the machine
    {"rss", &Usage::rss, 1024 * kKilo, 256 * kKilo, 1024 * kKilo, 2048 * kKilo, 2048 * kKilo, true},
    {"files", &Usage::files, 0.9, 0.9, 0.9, 0.9, 0.9, false},
    // GLib's pool keeps one more thread when tasks first overlap
    {"threads", &Usage::threads, 0.9, 0.9, 0.9, 0.9, 0.9, true}};

/// Prints the numbers. @return true if nothing grew.
bool judge(const char* what, const std::vector<Usage>& samples, double Bound::* most) {
  bool fine = samples.size() >= 2 * kWarmPart;
  if (!fine)
    std::printf("expected at least %zu samples of %s, found %zu\n", 2 * kWarmPart, what,
                samples.size());
  for (const Bound& bound : kBounds) {
    if (samples.empty()) break;
    const double range =
        static_cast<double>(samples.back().at - samples[samples.size() / kWarmPart].at);
    const double each = growth(samples, bound.number, bound.steps ? 3 : 1);
    const bool good = each * range <= bound.*most;
    std::printf("%s %s: %s %.0f in the end, %+.4f each over %.0f\n", good ? "ok" : "GREW", what,
                bound.name, samples.back().*bound.number, each, range);
    fine = fine && good;
  }
  std::fflush(stdout);
  return fine;
}

bool failed(const std::string& error) {
  if (!error.empty()) std::printf("expected no error, found %s\n", error.c_str());
  return !error.empty();
}

/// Starts once and runs that many frames into a fakesink.
bool soak_frames(const std::string& folder, uint64_t frames, std::vector<Usage>& samples) {
  samples.reserve(kSamples + 1);
  const uint64_t every = std::max<uint64_t>(frames / kSamples, 1);
  Line line(folder, frames, "/dev/null");
  line.each([&](uint64_t number) {
    if (number % every == 0) samples.push_back(usage(number));
  });
  if (failed(line.play())) return false;
  if (line.frames() == frames) return true;
  std::printf("expected %zu frames, found %zu\n", size_t(frames), size_t(line.frames()));
  return false;
}

/// Follows a crowd with each tracking method.
bool soak_tracks(uint64_t frames, std::vector<Usage>& samples) {
  samples.reserve(kSamples + 1);
  const uint64_t every = std::max<uint64_t>(frames / kSamples, 1);
  const uint64_t ids = follow_crowd(frames, [&](uint64_t number) {
    if (number % every == 0) samples.push_back(usage(number));
  });
  std::printf("%zu ids\n", size_t(ids));
  return ids > frames / 100;
}

/// Each cycle makes the elements, plays a file to its end, starts the next one and stops in the
/// middle. Two names alternate, so that files are replaced.
bool soak_cycles(const std::string& folder, uint64_t cycles, std::vector<Usage>& samples) {
  samples.reserve(cycles);
  for (uint64_t cycle = 1; cycle <= cycles; ++cycle) {
    const std::string names[] = {folder + "/a.jsonl", folder + "/b.jsonl"};
    {
      Line line(folder, kCycleFrames, names[cycle % 2]);
      if (failed(line.play()) || failed(line.cut(names[(cycle + 1) % 2]))) return false;
    }
    samples.push_back(usage(cycle));
  }
  return true;
}

/// Restarts pipelines that share a model while others play. Takes samples when all are stopped.
bool soak_restarts(Streams& streams, uint64_t restarts, std::vector<Usage>& samples) {
  samples.reserve(restarts / Streams::kRestarts);
  for (uint64_t done = 0; done < restarts; done += Streams::kRestarts) {
    if (failed(streams.cycle())) return false;
    samples.push_back(usage(done + Streams::kRestarts));
  }
  return true;
}

bool try_restarts(const Options& options, std::vector<Usage>& samples) {
  Streams streams(options.model);
  const std::string error = streams.load();
  if (error.contains("KEEPBOX_ONNXRUNTIME")) {
    std::printf("skipped restarts: no ONNX Runtime\n");
    return true;
  }
  const bool fine = !failed(error) && soak_restarts(streams, options.restarts, samples);
  return judge("restarts", samples, &Bound::restarts) && fine;
}

/// Takes samples when no pipeline plays.
bool soak_visits(const Options& options, std::vector<Usage>& samples) {
  Visits visits(options.model);
  bool fine = !failed(visits.load());
  while (fine && visits.frames() < options.visits) {
    fine = !failed(visits.round());
    samples.push_back(usage(visits.frames()));
  }
  return judge("visits", samples, &Bound::visits) && fine;
}

nlohmann::json to_json(const std::vector<Usage>& samples) {
  nlohmann::json out = nlohmann::json::array();
  for (const Usage& each : samples)
    out.push_back({{"at", each.at},
                   {"heap", each.heap},
                   {"rss", each.rss},
                   {"files", each.files},
                   {"threads", each.threads}});
  return out;
}

bool run(const Options& options) {
  const test::TempDir folder;
  write_tensors(folder.path().string());
  std::vector<Usage> frames, tracks, cycles, restarts, visits;
  bool fine = soak_frames(folder.path().string(), options.frames, frames);
  fine = judge("frames", frames, &Bound::frames) && fine;
  fine = soak_tracks(options.tracks, tracks) && fine;
  fine = judge("tracks", tracks, &Bound::tracks) && fine;
  fine = soak_cycles(folder.path().string(), options.cycles, cycles) && fine;
  fine = judge("cycles", cycles, &Bound::cycles) && fine;
  if (!options.model.empty()) fine = try_restarts(options, restarts) && fine;
  if (!restarts.empty()) fine = soak_visits(options, visits) && fine;
  if (!options.json.empty())
    std::ofstream(options.json) << nlohmann::json{{"frames", to_json(frames)},
                                                  {"tracks", to_json(tracks)},
                                                  {"cycles", to_json(cycles)},
                                                  {"restarts", to_json(restarts)},
                                                  {"visits", to_json(visits)}}
                                       .dump(1)
                                << '\n';
  return fine;
}

/// @return true if the options are valid.
bool parse(int argc, char** argv, Options& out) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    if (std::strcmp(argv[i], "--frames") == 0) out.frames = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--tracks") == 0)
      out.tracks = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--cycles") == 0)
      out.cycles = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--restarts") == 0)
      out.restarts = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--visits") == 0)
      out.visits = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--model") == 0) out.model = argv[i + 1];
    else if (std::strcmp(argv[i], "--json") == 0) out.json = argv[i + 1];
    else return false;
  }
  return out.frames > 0 && out.tracks > 0 && out.cycles > 0 && out.restarts > 0 && out.visits > 0;
}

/// Disables malloc's per-thread caches, whose blocks count as allocated, and additional arenas,
/// whose free memory makes the resident size grow without a leak.
void with_plain_malloc(char** argv) {
  constexpr const char* kName = "GLIBC_TUNABLES";
  if (std::getenv(kName) != nullptr) return;
  setenv(kName, "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace keepbox::soak

int main(int argc, char** argv) {
  keepbox::soak::with_plain_malloc(argv);
  gst_init(&argc, &argv);
  keepbox::soak::Options options;
  if (!keepbox::soak::parse(argc, argv, options)) {
    std::fputs(keepbox::soak::kUsage, stderr);
    return 2;
  }
  return keepbox::soak::run(options) ? 0 : 1;
}
