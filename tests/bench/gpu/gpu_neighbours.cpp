// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames next to a model of the same process that leaves no idle time on the device.
#include <atomic>
#include <format>
#include <thread>

#include "tests/bench/gpu/gpu.h"
#include "tests/bench/gpu/neighbour.h"

namespace keepbox::test::gpu {
namespace {

constexpr size_t kCopiedBeside = size_t{64} << 20;  // some 38 us of an H200

/// Thread that keeps a stream of the lowest priority full of one kernel.
class Neighbour {
 public:
  explicit Neighbour(Launch launch)
      : launch_(std::move(launch)), microseconds_(microseconds_each(200, stream_, launch_)) {
    for (cudaEvent_t& event : events_)
      KB_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    begun_.wait(false);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    thread_.request_stop();
    thread_.join();
    stream_.synchronise();
    for (const cudaEvent_t event : events_) KB_CUDA(cudaEventDestroy(event));
  }

  /// Returns the time of one of its kernels on an idle device.
  double microseconds() const { return microseconds_; }

 private:
  static constexpr size_t kAhead = 4;        // groups in flight
  static constexpr unsigned kEachGroup = 8;  // kernels

  void work(const std::stop_token& stop) {
    for (size_t group = 0; !stop.stop_requested(); ++group) {
      const cudaEvent_t event = events_[group % kAhead];
      // of the previous group in this slot; none at first
      KB_CUDA(cudaEventSynchronize(event));
      for (unsigned i = 0; i < kEachGroup; ++i) launch_(stream_.get());
      KB_CUDA(cudaEventRecord(event, stream_.get()));
      if (group == kAhead) begun_ = true, begun_.notify_one();
    }
  }

  const Stream stream_{Priority::kLowest};
  const Launch launch_;
  const double microseconds_;
  cudaEvent_t events_[kAhead] = {};
  std::atomic<bool> begun_ = false;
  std::jthread thread_;
};

void measure_beside(Session& session, const Input& input, const std::string& what,
                    const Launch& launch) {
  auto contender = backend(input, "cuda", MemorySpace::kCuda);
  if (!contender) return;
  const Neighbour neighbour(launch);
  contender->name +=
      std::format(", beside {} ({:.1f} us a kernel)", what, neighbour.microseconds());
  measure(session, input, *contender, false);
}

}  // namespace

void measure_neighbours(Session& session) {
  const Input input =
      make_input(session, "neighbours", "25200x85, street, score > 0.25", "",
                 frame_settings(false, 0.25f), scenes(false, 25200, kStreet, kTensors));
  if (const auto idle = backend(input, "cuda", MemorySpace::kCuda))
    measure(session, input, *idle, false);
  const unsigned wave = blocks_of_multiprocessor() * multiprocessors();
  for (const auto& [waves, microseconds] :
       {std::pair{64u, 3.4}, {16u, 10.0}, {8u, 40.0}, {1u, 85.0}})
    measure_beside(session, input, std::format("{} x {} us", waves, microseconds),
                   make_work(wave, waves, microseconds));
  const DeviceBuffer from(kCopiedBeside), to(kCopiedBeside);
  KB_CUDA(cudaMemset(from.data(), 0, kCopiedBeside));
  KB_CUDA(cudaDeviceSynchronize());
  measure_beside(session, input, "copies", make_copy(to, from));
}

}  // namespace keepbox::test::gpu
