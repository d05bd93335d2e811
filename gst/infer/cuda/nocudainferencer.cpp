// SPDX-License-Identifier: LGPL-2.1-or-later
// Stubs of cudainferencer.cpp and pinnedpool.h for builds without libgstcuda.
#include "gst/infer/cuda/pinnedpool.h"
#include "gst/infer/run/inferencer.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec&, const CudaContext&) {
  return std::unexpected(require_cuda("set provider=cpu").error());
}

bool offer_pinned_pool(GstQuery*, const CudaContext&) { return false; }

}  // namespace keepbox
