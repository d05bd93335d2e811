// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions that the GStreamer at hand may lack, because it is older than they are.
#pragma once

#include <dlfcn.h>

namespace keepbox {

/// Finds a function in the libraries that are loaded. Returns false, and sets nullptr, if none has
/// it.
template <class Function>
bool find_function(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace keepbox
