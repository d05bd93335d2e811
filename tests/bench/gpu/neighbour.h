// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that keep the device busy during measurements.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "tests/bench/gpu/device.h"

namespace keepbox::test {

enum class Priority { kUsual, kLowest };

/// Owns a stream that does not synchronise with others.
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

/// Returns the microseconds per kernel of `launches` kernels back to back.
double microseconds_each(unsigned launches, const Stream& stream, const Launch& launch);

/// Returns the number of blocks of 256 threads that run on a multiprocessor at once: 8 on most
/// GPUs.
unsigned blocks_of_multiprocessor();
unsigned multiprocessors();

/// Returns a kernel of dependent multiply-adds, calibrated to the requested time.
/// @param blocks of 256 threads that run at once
/// @param waves sequential waves of that many blocks
/// @param microseconds per wave
Launch make_work(unsigned blocks, unsigned waves, double microseconds);

/// Returns a kernel that copies between two buffers of the same size, which must stay alive.
Launch make_copy(const DeviceBuffer& to, const DeviceBuffer& from);

}  // namespace keepbox::test
