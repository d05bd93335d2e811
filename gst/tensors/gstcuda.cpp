// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks up libgstcuda at run time.
#include "gst/tensors/gstcuda.h"

#include <dlfcn.h>

namespace keepbox {

LateLibrary::LateLibrary(const char* name)
    : handle_(dlopen(name, RTLD_LAZY | RTLD_LOCAL)), complete_(handle_ != nullptr) {}

LateLibrary::Function LateLibrary::find(const char* name) {
  void* address = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
  complete_ = complete_ && address != nullptr;
  return {address};
}

const GstCuda& gst_cuda() {
  static const GstCuda loaded{.library = LateLibrary("libgstcuda-1.0.so.0")};
  return loaded;
}

}  // namespace keepbox
