// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory on the device and pinned memory on the host, errors of CUDA, and the wait for a result.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/cpulimits.h"
#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/plan/plan.h"

/// Returns the error of a CUDA call from the calling function.
#define KB_TRY_CUDA(call) KB_TRY(::keepbox::cuda::check((call), #call))

namespace keepbox::cuda {

/// Returns kNoResource with CUDA's error text, and a hint.
Status check(cudaError_t error, const char* call);

struct FreeDevice {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
struct FreeHost {
  void operator()(std::byte* memory) const { cudaFreeHost(memory); }
};
struct DestroyStream {
  void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(CUevent_st* event) const { cudaEventDestroy(event); }
};

using DeviceBlob = std::unique_ptr<std::byte, FreeDevice>;
using HostBlob = std::unique_ptr<std::byte, FreeHost>;  // pinned and writable by the device
using Stream = std::unique_ptr<CUstream_st, DestroyStream>;
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

Result<DeviceBlob> allocate_device(size_t bytes);
Result<HostBlob> allocate_host(size_t bytes);

/// Creates a high-priority stream that does not synchronise with the default stream.
Result<Stream> make_stream();

/// Creates an event without timing, which the host can wait for without spinning.
Result<Event> make_event();

// Copies tensors in system memory to the device.

class Staging {
 public:
  /// Allocates pinned and device memory for all tensors of a plan, those of all frames if it is
  /// joint.
  Status allocate(const Plan& plan);

  /// Starts the copy of tensor `index` of the plan on the stream. @param frame of a joint plan.
  /// @return its values on the device; kUnsupported before allocate().
  Result<const std::byte*> upload(const TensorView& tensor, size_t index, uint32_t frame,
                                  cudaStream_t stream);

  /// Releases ownership of memory that was lost with its context.
  void abandon();

 private:
  DeviceBlob device_;
  HostBlob host_;
  std::vector<size_t> offsets_;  // per tensor
};

// Waits for memory in a loop.

using Microseconds = std::chrono::microseconds;

/// Duration of most frames: spinning reacts some microseconds faster than a blocking wait.
inline constexpr Microseconds kSpin{40};
/// Duration of yielding to other threads between polls.
inline constexpr Microseconds kYield{200};
/// Durations of spinning, and of sleeping between polls, if more threads wait than there are
/// processors. Linux adds 50 us to the sleep by default. A thread that spins would keep its
/// processor for a time slice of milliseconds, and one that yields may get it back at once, while
/// others wait for it.
inline constexpr Microseconds kCrowdedSpin{5}, kNap{10};

/// Counts the threads of the process that wait in spin().
class WaitingThread {
 public:
  WaitingThread() { count_.fetch_add(1, std::memory_order_relaxed); }
  ~WaitingThread() { count_.fetch_sub(1, std::memory_order_relaxed); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  /// True if more threads wait than there are processors for the process.
  static bool is_crowded() {
    static const unsigned processors = read_cpu_limits().usable();
    return count_.load(std::memory_order_relaxed) > processors;
  }

 private:
  static inline std::atomic<unsigned> count_;
};

/// Hints to the processor that a loop waits for memory.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `done` until it is true or the time is over; leaves the processor to other threads after a
/// while.
template <class Done>
bool spin(Microseconds limit, Microseconds alone, Done done) {
  const WaitingThread waiting;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent >= limit) return false;
    if (spent >= kCrowdedSpin && WaitingThread::is_crowded()) std::this_thread::sleep_for(kNap);
    else if (spent >= alone) std::this_thread::yield();
  }
}

}  // namespace keepbox::cuda
