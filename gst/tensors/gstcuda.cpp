// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks up libgstcuda at run time.
#include "gst/tensors/gstcuda.h"

namespace keepbox {

const GstCuda& gst_cuda() {
  static const GstCuda loaded{LateLibrary("libgstcuda-1.0.so.0")};
  return loaded;
}

}  // namespace keepbox
