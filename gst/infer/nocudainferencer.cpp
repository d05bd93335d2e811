// SPDX-License-Identifier: LGPL-2.1-or-later
// What is left of cudainferencer.cpp in a build without libgstcuda.
#include "gst/infer/inferencer.h"

namespace keepbox {

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec&, const CudaContext&) {
  return fail(ErrorKind::kNoResource, "keepbox built with CUDA", "a build without (./dev build --cuda)",
              "set provider=cpu");
}

}  // namespace keepbox
