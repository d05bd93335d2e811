// SPDX-License-Identifier: LGPL-2.1-or-later
// Scratch buffers whose size depends on tensors and frames; failed allocations are errors.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "core/base/result.h"

namespace keepbox {

/// Growing array whose contents are lost on growth.
template <class T>
class ScratchBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// Ensures capacity for `count` elements; their contents are undefined afterwards. Returns
  /// kNoResource, with an empty buffer, if memory is not available. @param hint how to use less.
  Status grow(size_t count, const char* hint) {
    if (count <= count_) return {};
    blob_.reset();
    count_ = 0;
    blob_.reset(new (std::nothrow) T[count]);
    if (blob_ == nullptr)
      return reject(ErrorKind::kNoResource,
                    "Not enough memory for " + std::to_string(count * sizeof(T)) + " bytes", hint);
    count_ = count;
    return {};
  }

  T* data() { return blob_.get(); }
  /// Returns the first `count` elements. @pre the capacity is at least `count`.
  std::span<T> first(size_t count) { return {blob_.get(), count}; }

 private:
  std::unique_ptr<T[]> blob_;
  size_t count_ = 0;
};

}  // namespace keepbox
