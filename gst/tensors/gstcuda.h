// SPDX-License-Identifier: LGPL-2.1-or-later
// libgstcuda, loaded on first use: without it everything runs on the CPU.
#pragma once

#include <gst/cuda/gstcuda.h>

#include <bit>

#include "gst/base/latelibrary.h"

namespace keepbox {

/// Flags for reading in device memory. Beyond the enumeration's range, so a static_cast is
/// undefined.
inline constexpr GstMapFlags kReadCuda =
    std::bit_cast<GstMapFlags>(int{GST_MAP_READ} | GST_MAP_CUDA);

/// All functions of libgstcuda that are used here.
struct GstCuda {
  LateLibrary library;
  bool complete() const { return library.complete(); }

  decltype(&gst_cuda_load_library) load_library = library.find("gst_cuda_load_library");
  decltype(&gst_cuda_context_new_wrapped) context_new_wrapped =
      library.find("gst_cuda_context_new_wrapped");
  decltype(&gst_cuda_context_get_handle) context_get_handle =
      library.find("gst_cuda_context_get_handle");
  decltype(&gst_cuda_context_push) context_push = library.find("gst_cuda_context_push");
  decltype(&gst_cuda_context_pop) context_pop = library.find("gst_cuda_context_pop");
  decltype(&gst_cuda_ensure_element_context) ensure_element_context =
      library.find("gst_cuda_ensure_element_context");
  decltype(&gst_cuda_handle_set_context) handle_set_context =
      library.find("gst_cuda_handle_set_context");
  decltype(&gst_cuda_handle_context_query) handle_context_query =
      library.find("gst_cuda_handle_context_query");
  decltype(&gst_context_new_cuda_context) new_context_message =
      library.find("gst_context_new_cuda_context");
  decltype(&gst_cuda_memory_get_stream) memory_get_stream =
      library.find("gst_cuda_memory_get_stream");
  decltype(&gst_cuda_stream_new) stream_new = library.find("gst_cuda_stream_new");
  decltype(&gst_cuda_stream_get_handle) stream_get_handle =
      library.find("gst_cuda_stream_get_handle");
  decltype(&gst_cuda_allocator_alloc_wrapped) allocator_alloc_wrapped =
      library.find("gst_cuda_allocator_alloc_wrapped");
  decltype(&::CuCtxPushCurrent) CuCtxPushCurrent = library.find("CuCtxPushCurrent");
  decltype(&::CuCtxPopCurrent) CuCtxPopCurrent = library.find("CuCtxPopCurrent");
  decltype(&::CuEventCreate) CuEventCreate = library.find("CuEventCreate");
  decltype(&::CuEventDestroy) CuEventDestroy = library.find("CuEventDestroy");
  decltype(&::CuEventRecord) CuEventRecord = library.find("CuEventRecord");
  decltype(&::CuEventSynchronize) CuEventSynchronize = library.find("CuEventSynchronize");
  decltype(&::CuGetErrorName) CuGetErrorName = library.find("CuGetErrorName");
  decltype(&::CuMemAlloc) CuMemAlloc = library.find("CuMemAlloc");
  decltype(&::CuMemFree) CuMemFree = library.find("CuMemFree");
  decltype(&::CuMemcpyHtoDAsync) CuMemcpyHtoDAsync = library.find("CuMemcpyHtoDAsync");
};

/// Loads the library on the first call, permanently. Call its functions only if it is complete.
const GstCuda& gst_cuda();

}  // namespace keepbox
