// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of CUDA resources, and CUDA errors as values.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "core/base/result.h"

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

}  // namespace keepbox::cuda
