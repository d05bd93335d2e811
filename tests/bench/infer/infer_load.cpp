// SPDX-License-Identifier: LGPL-2.1-or-later
// Load of the process and of the GPU.
#include <dlfcn.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {
namespace {

/// Percent of the time, as defined by NVML.
struct Rates {
  unsigned gpu, memory;
};

/// NVML, if the driver has it.
struct Nvml {
  int (*start)() = nullptr;
  int (*device)(unsigned, void**) = nullptr;
  int (*rates)(void*, Rates*) = nullptr;
  void* first = nullptr;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    start = reinterpret_cast<decltype(start)>(dlsym(library, "nvmlInit_v2"));
    device = reinterpret_cast<decltype(device)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    rates = reinterpret_cast<decltype(rates)>(dlsym(library, "nvmlDeviceGetUtilizationRates"));
    if (start == nullptr || device == nullptr || rates == nullptr || start() != 0 ||
        device(0, &first) != 0)
      first = nullptr;
  }
};

}  // namespace

struct GpuMeter::Worker {
  std::atomic<double> sum = 0;
  std::atomic<unsigned> count = 0;
  std::jthread thread;

  void sample(const std::stop_token& stop, const Nvml& nvml) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      Rates now{};
      if (nvml.rates(nvml.first, &now) != 0) continue;
      sum += now.gpu;
      ++count;
    }
  }
};

GpuMeter::GpuMeter() {
  static const Nvml nvml;
  if (nvml.first == nullptr) return;
  worker_ = std::make_unique<Worker>();
  worker_->thread = std::jthread(
      [worker = worker_.get()](const std::stop_token& stop) { worker->sample(stop, nvml); });
}

GpuMeter::~GpuMeter() = default;

double GpuMeter::mean() const {
  return worker_ != nullptr && worker_->count > 0 ? worker_->sum / worker_->count : -1;
}

double process_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace keepbox::test
