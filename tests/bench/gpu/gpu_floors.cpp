// SPDX-License-Identifier: LGPL-2.1-or-later
// Lower bounds for any decoder: launches, waits, and reading or copying memory.
#include <chrono>
#include <format>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

constexpr size_t kCopied = size_t{512} << 20;

/// An event with a time stamp.
class Event {
 public:
  Event() { KB_CUDA(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { KB_CUDA(cudaEventDestroy(event_)); }

  void record() const { KB_CUDA(cudaEventRecord(event_, nullptr)); }
  double microseconds_since(const Event& start) const {
    KB_CUDA(cudaEventSynchronize(event_));
    float milliseconds = 0;
    KB_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return 1e3 * double{milliseconds};
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Times work with the device's clock.
Times timed_on_device(size_t calls, const std::function<void(size_t)>& before,
                      const std::function<void(size_t)>& work) {
  const Event start, end;
  std::vector<double> times;
  for (size_t i = 0; i < calls + kTensors; ++i) {
    if (before) before(i);
    start.record();
    work(i);
    end.record();
    const double took = end.microseconds_since(start);
    if (i >= kTensors) times.push_back(took);
  }
  return times_of(std::move(times));
}

void add(Session& session, std::string what, const char* state, const Times& times,
         double gb_per_s = 0) {
  session.add({.section = "floors",
               .contender = std::move(what),
               .state = state,
               .p50 = times.p50,
               .p99 = times.p99,
               .calls = times.calls,
               .gb_per_s = gb_per_s});
}

void measure_launches(Session& session) {
  cudaStream_t stream = nullptr;
  KB_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  add(session, "empty launch, stream synchronised", "", timed({}, [&](size_t) {
        launch_empty(stream);
        KB_CUDA(cudaStreamSynchronize(stream));
      }));
  const MappedFlag flag;
  uint32_t value = 0;
  add(session, "launch, flag seen by a spinning host", "", timed({}, [&](size_t) {
        launch_flag(flag.on_device(), ++value, stream);
        flag.wait_for(value);
      }));
  KB_CUDA(cudaStreamSynchronize(stream));
  KB_CUDA(cudaStreamDestroy(stream));
  add(session, "empty kernel between events, on the GPU", "",
      timed_on_device(300, {}, [](size_t) { launch_empty(nullptr); }));
}

/// Measures a dense read of that many bytes.
void measure_reads(Session& session, const char* name, size_t bytes) {
  std::vector<DeviceBuffer> buffers;
  for (size_t i = 0; i < kTensors; ++i) {
    buffers.emplace_back(bytes);
    KB_CUDA(cudaMemset(buffers.back().data(), 0, bytes));
  }
  KB_CUDA(cudaDeviceSynchronize());
  const auto read = [&](size_t i) { launch_read(buffers[i % kTensors], session.sink(), nullptr); };
  const auto warm = [&](size_t i) { session.warm(buffers[i % kTensors]); };
  const auto flush = [&](size_t) { session.flush(); };
  const auto rate = [&](const Times& times) {
    return static_cast<double>(bytes) / times.p50 / 1e3;
  };
  const std::string what = std::format("reading {}", name);
  for (const auto& [state, before] :
       {std::pair<const char*, std::function<void(size_t)>>{"warm", warm}, {"flushed", flush}}) {
    const Times on_device = timed_on_device(300, before, read);
    add(session, what + " between events, on the GPU", state, on_device, rate(on_device));
    const Times whole = timed(before, [&](size_t i) {
      read(i);
      KB_CUDA(cudaStreamSynchronize(nullptr));
    });
    add(session, what + ", stream synchronised", state, whole, rate(whole));
  }
}

/// Measures a copy from system memory, which a backend needs for tensors that are not on the
/// device.
void measure_upload(Session& session, const char* name, size_t bytes, bool pinned) {
  const DeviceBuffer to(bytes);
  std::vector<std::byte> pageable(pinned ? 0 : bytes);
  void* from = pageable.data();
  if (pinned) KB_CUDA(cudaMallocHost(&from, bytes));
  const Times times = timed({}, [&](size_t) {
    KB_CUDA(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, nullptr));
    KB_CUDA(cudaStreamSynchronize(nullptr));
  });
  add(session, std::format("upload of {}, {}", name, pinned ? "pinned" : "pageable"), "", times,
      static_cast<double>(bytes) / times.p50 / 1e3);
  if (pinned) KB_CUDA(cudaFreeHost(from));
}

}  // namespace

double copy_bandwidth() {
  static const double gb_per_s = [] {
    const DeviceBuffer from(kCopied), to(kCopied);
    KB_CUDA(cudaMemset(from.data(), 0, kCopied));
    const Times times = timed_on_device(20, {}, [&](size_t) {
      KB_CUDA(cudaMemcpyAsync(to.data(), from.data(), kCopied, cudaMemcpyDeviceToDevice, nullptr));
    });
    return 2 * static_cast<double>(kCopied) / times.p50 / 1e3;
  }();
  return gb_per_s;
}

void measure_floors(Session& session) {
  measure_launches(session);
  for (const auto& [name, bytes] : {std::pair{"25200x85", size_t{25200} * 85 * sizeof(float)},
                                    {"84x8400", size_t{84} * 8400 * sizeof(float)}}) {
    measure_reads(session, name, bytes);
    for (const bool pinned : {true, false}) measure_upload(session, name, bytes, pinned);
  }
  session.add({.section = "floors",
               .contender = "copy on the device, read and written",
               .p50 = 2 * static_cast<double>(kCopied) / copy_bandwidth() / 1e3,
               .calls = 20,
               .gb_per_s = copy_bandwidth()});
}

}  // namespace keepbox::test::gpu
