// SPDX-License-Identifier: LGPL-2.1-or-later
// Libraries and functions that are looked up at run time.
#pragma once

#include <dlfcn.h>

#include <string>

namespace keepbox {

// Optional libraries, loaded on first use.

/// A function address that converts to any function type.
struct LateFunction {
  void* address;
  template <class Type>
  operator Type*() const {  // NOLINT: implicit on purpose
    return reinterpret_cast<Type*>(address);
  }
};

/// A library that stays loaded.
class LateLibrary {
 public:
  explicit LateLibrary(const char* name);
  LateFunction find(const char* name);
  bool loaded() const { return handle_ != nullptr; }
  /// True if it is loaded and has all functions that were looked up.
  bool complete() const { return complete_; }
  /// Returns the reason why it could not be loaded; empty if it was.
  const std::string& why_not() const { return why_not_; }

 private:
  void* handle_;
  bool complete_;
  std::string why_not_;
};

// Functions that the GStreamer at hand may lack, because it is older than they are.

/// Finds a function in the libraries that are loaded. Returns false, and sets nullptr, if none has
/// it.
template <class Function>
bool find_function(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace keepbox
