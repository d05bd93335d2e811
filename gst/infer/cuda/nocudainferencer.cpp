// SPDX-License-Identifier: LGPL-2.1-or-later
// Stub of cudainferencer.cpp for builds without libgstcuda.
#include "gst/infer/inferencer.h"

namespace keepbox {

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec&, const CudaContext&) {
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                "set provider=cpu, or build with ./dev build --cuda");
}

}  // namespace keepbox
