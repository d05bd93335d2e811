// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that keep the device busy while something else is measured.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "tests/bench/device.h"

namespace keepbox::test {

enum class Priority { kUsual, kLowest };

/// Owns a stream that waits for no other.
class Stream {
 public:
  explicit Stream(Priority priority = Priority::kUsual);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { KB_CUDA(cudaStreamDestroy(stream_)); }

  cudaStream_t get() const { return stream_; }
  void synchronise() const { KB_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Launches one kernel.
using Launch = std::function<void(cudaStream_t)>;

/// Microseconds from one end to the next of so many kernels back to back.
double microseconds_each(unsigned launches, const Stream& stream, const Launch& launch);

/// Blocks of 256 threads that one multiprocessor runs at once: 8 of most GPUs.
unsigned blocks_of_multiprocessor();
unsigned multiprocessors();

/// A kernel of multiply-adds, each of which waits for the one before. Measures how many it needs.
/// @param blocks of 256 threads that run at once
/// @param waves of so many blocks, one after the other
/// @param microseconds of each wave
Launch make_work(unsigned blocks, unsigned waves, double microseconds);

/// A kernel that copies from one buffer to another of the same size; both have to stay.
Launch make_copy(const DeviceBuffer& to, const DeviceBuffer& from);

}  // namespace keepbox::test
