// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions of the CUDA driver that libgstcuda does not wrap.
#pragma once

#include <gst/cuda/gstcuda.h>

#include "core/base/result.h"
#include "gst/base/latelibrary.h"

namespace keepbox {

/// The driver's API, with the stable names of CUDA 11.4.
struct CudaDriver {
  LateLibrary library;
  bool complete() const { return library.complete(); }

  CUresult (*init)(unsigned) = library.find("cuInit");
  CUresult (*device_get)(CUdevice*, int) = library.find("cuDeviceGet");
  CUresult (*primary_retain)(CUcontext*, CUdevice) = library.find("cuDevicePrimaryCtxRetain");
  CUresult (*pointer_attribute)(void*, CUpointer_attribute,
                                CUdeviceptr) = library.find("cuPointerGetAttribute");
  CUresult (*current_context)(CUcontext*) = library.find("cuCtxGetCurrent");
  CUresult (*current_device)(CUdevice*) = library.find("cuCtxGetDevice");
  CUresult (*priorities)(int* lowest, int* highest) = library.find("cuCtxGetStreamPriorityRange");
  CUresult (*stream_create)(CUstream*, unsigned flags,
                            int priority) = library.find("cuStreamCreateWithPriority");
  CUresult (*stream_destroy)(CUstream) = library.find("cuStreamDestroy_v2");
  CUresult (*stream_synchronize)(CUstream) = library.find("cuStreamSynchronize");
  CUresult (*stream_wait)(CUstream, CUevent, unsigned) = library.find("cuStreamWaitEvent");
  CUresult (*stream_context)(CUstream, CUcontext*) = library.find("cuStreamGetCtx");
  CUresult (*begin_capture)(CUstream,
                            CUstreamCaptureMode) = library.find("cuStreamBeginCapture_v2");
  CUresult (*end_capture)(CUstream, CUgraph*) = library.find("cuStreamEndCapture");
  CUresult (*graph_instantiate)(CUgraphExec*, CUgraph,
                                unsigned long long) = library.find("cuGraphInstantiateWithFlags");
  CUresult (*graph_destroy)(CUgraph) = library.find("cuGraphDestroy");
  CUresult (*graph_launch)(CUgraphExec, CUstream) = library.find("cuGraphLaunch");
  CUresult (*graph_upload)(CUgraphExec, CUstream) = library.find("cuGraphUpload");
  CUresult (*graph_exec_destroy)(CUgraphExec) = library.find("cuGraphExecDestroy");
  CUresult (*event_create)(CUevent*, unsigned) = library.find("cuEventCreate");
  CUresult (*event_destroy)(CUevent) = library.find("cuEventDestroy_v2");
  CUresult (*event_record)(CUevent, CUstream) = library.find("cuEventRecord");
  CUresult (*event_query)(CUevent) = library.find("cuEventQuery");
  CUresult (*event_synchronize)(CUevent) = library.find("cuEventSynchronize");
  CUresult (*event_elapsed)(float*, CUevent, CUevent) = library.find("cuEventElapsedTime");
  CUresult (*alloc)(CUdeviceptr*, size_t) = library.find("cuMemAlloc_v2");
  CUresult (*free)(CUdeviceptr) = library.find("cuMemFree_v2");
  CUresult (*host_alloc)(void**, size_t, unsigned) = library.find("cuMemHostAlloc");
  CUresult (*host_free)(void*) = library.find("cuMemFreeHost");
  CUresult (*copy_in)(CUdeviceptr, const void*, size_t,
                      CUstream) = library.find("cuMemcpyHtoDAsync_v2");
  CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t,
                   CUstream) = library.find("cuMemcpyDtoDAsync_v2");
  CUresult (*copy_across)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t,
                          CUstream) = library.find("cuMemcpyPeerAsync");
};

/// Loads the library on the first call, permanently. Call its functions only if it is complete.
const CudaDriver& cuda_driver();

/// Returns success, or kNoResource with the driver's name of the error.
Status cuda_status(CUresult result, const char* expected);

}  // namespace keepbox
