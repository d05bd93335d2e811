// SPDX-License-Identifier: LGPL-2.1-or-later
// Optional libraries, loaded on first use.
#pragma once

#include <string>

namespace keepbox {

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

}  // namespace keepbox
