// SPDX-License-Identifier: LGPL-2.1-or-later
// Stub of cudainferencer.cpp for builds without libgstcuda.
#include "gst/infer/inferencer.h"

namespace keepbox {

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec&, const CudaContext&) {
  return fail(ErrorKind::kNoResource, "keepbox built with CUDA", "a build without CUDA",
              "set provider=cpu, or build with ./dev build --cuda");
}

}  // namespace keepbox
