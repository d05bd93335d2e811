// SPDX-License-Identifier: LGPL-2.1-or-later
// Libraries that may not be there, loaded when they are first wanted.
#pragma once

#include <string>

namespace keepbox {

/// A function by its address, of whatever type its declaration has.
struct LateFunction {
  void* address;
  template <class Type>
  operator Type*() const {  // NOLINT: that is what it is for
    return reinterpret_cast<Type*>(address);
  }
};

/// A library that stays once it is loaded.
class LateLibrary {
 public:
  explicit LateLibrary(const char* name);
  LateFunction find(const char* name);
  bool loaded() const { return handle_ != nullptr; }
  /// Is it there, with all that has been looked for?
  bool complete() const { return complete_; }
  /// Why it could not be loaded; empty when it was.
  const std::string& why_not() const { return why_not_; }

 private:
  void* handle_;
  bool complete_;
  std::string why_not_;
};

}  // namespace keepbox
