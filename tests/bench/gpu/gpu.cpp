// SPDX-License-Identifier: LGPL-2.1-or-later
// Times the CUDA backend, the vector backend, published methods and the limits of the machine in
// one run, and compares all boxes with the reference.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

constexpr int kSkipped = 77;

constexpr const char* kUsage =
    "usage: gpu-bench [--json FILE] [--dump DIR] [--only SECTION]\n"
    "  --json FILE     write the table's rows\n"
    "  --dump DIR      write tensors and a manifest for torch_peer.py (about 1 GB)\n"
    "  --only SECTION  floors, contents, candidates, nms, batches, instances, waiting,\n"
    "                  neighbours or families\n";

struct Options {
  std::string json, dump, only;
};

/// Returns nothing for unknown arguments.
std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string* value = std::strcmp(argv[i], "--json") == 0   ? &options.json
                         : std::strcmp(argv[i], "--dump") == 0 ? &options.dump
                         : std::strcmp(argv[i], "--only") == 0 ? &options.only
                                                               : nullptr;
    if (value == nullptr || i + 1 == argc) return std::nullopt;
    *value = argv[i + 1];
  }
  return options;
}

struct Section {
  const char* name;
  void (*measure)(Session& session);
};

constexpr Section kSections[] = {
    {"floors", measure_floors},         {"contents", measure_contents},
    {"candidates", measure_candidates}, {"nms", measure_nms},
    {"batches", measure_batches},       {"instances", measure_instances},
    {"waiting", measure_waiting},       {"neighbours", measure_neighbours},
    {"families", measure_families},
};

/// Returns the reason why nothing can be measured, or nullptr.
const char* missing() {
  if (find_backend("cuda") == nullptr) return "no CUDA backend in this build";
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return devices == 0 ? "no CUDA device" : nullptr;
}

void print_device() {
  cudaDeviceProp device{};
  int driver = 0, runtime = 0;
  KB_CUDA(cudaGetDeviceProperties(&device, 0));
  KB_CUDA(cudaDriverGetVersion(&driver));
  KB_CUDA(cudaRuntimeGetVersion(&runtime));
  std::printf("%s, %d multiprocessors, %.0f MB of L2; CUDA %d.%d, driver for %d.%d\n", device.name,
              device.multiProcessorCount, device.l2CacheSize / 1048576.0, runtime / 1000,
              runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

int run(const Options& options) {
  if (const char* why = missing()) {
    std::fprintf(stderr, "gpu-bench: skipped: %s\n", why);
    return kSkipped;
  }
  if (!options.dump.empty()) std::filesystem::create_directories(options.dump);
  print_device();
  Session session(options.dump);
  bool known = options.only.empty();
  for (const Section& section : kSections) {
    if (!options.only.empty() && options.only != section.name) continue;
    known = true;
    section.measure(session);
    if (!options.json.empty()) session.write(options.json);
    session.write_manifest();
  }
  if (!known) return std::fputs(kUsage, stderr), 2;
  std::printf("\n%s\n", session.agreed() ? "the boxes of all contenders are correct"
                                         : "SOME BOXES DIFFER, see above");
  return session.agreed() ? 0 : 1;
}

}  // namespace
}  // namespace keepbox::test::gpu

int main(int argc, char** argv) {
  const auto options = keepbox::test::gpu::parse(argc, argv);
  if (!options) return std::fputs(keepbox::test::gpu::kUsage, stderr), 2;
  return keepbox::test::gpu::run(*options);
}
