// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads libraries by name.
#include "gst/base/library.h"

namespace keepbox {

LateLibrary::LateLibrary(const char* name)
    : handle_(dlopen(name, RTLD_LAZY | RTLD_LOCAL)), complete_(handle_ != nullptr) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  why_not_ = reason != nullptr ? reason : "no reason given";
}

LateFunction LateLibrary::find(const char* name) {
  void* address = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
  complete_ = complete_ && address != nullptr;
  return {address};
}

}  // namespace keepbox
