// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory whose size tensors and frames decide: it may be refused, which is an error and not the end.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "core/result.h"

namespace keepbox {

/// Numbers that grow, and whose contents do not matter when they do.
template <class T>
class Room {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// Room for at least so many; the contents are undefined afterwards. kNoResource, and nothing is
  /// left, when the memory is not to be had. @param hint what makes it less.
  Status grow(size_t count, const char* hint) {
    if (count <= count_) return {};
    blob_.reset();
    count_ = 0;
    blob_.reset(new (std::nothrow) T[count]);
    if (blob_ == nullptr)
      return fail(ErrorKind::kNoResource, std::to_string(count * sizeof(T)) + " bytes of memory",
                  "none", hint);
    count_ = count;
    return {};
  }

  T* data() { return blob_.get(); }
  /// The first so many. @pre as many are there.
  std::span<T> first(size_t count) { return {blob_.get(), count}; }

 private:
  std::unique_ptr<T[]> blob_;
  size_t count_ = 0;
};

}  // namespace keepbox
