// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of the host that is copied to the device at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {

/// Bytes on the host, in rows.
struct ByteRows {
  const uint8_t* bytes = nullptr;
  size_t stride = 0;  // bytes
  int width = 0, height = 0;
};

/// Memory that is filled on the host and copied to the device.
class UploadArena {
 public:
  size_t size() const { return used_; }
  void clear() { used_ = 0; }

  /// Adds bytes at an aligned offset, and returns it.
  Result<size_t> add(const void* bytes, size_t count);
  Result<size_t> add(const ByteRows& rows);
  template <class T>
  Result<size_t> add(const std::vector<T>& list) {
    return add(list.data(), list.size() * sizeof(T));
  }

  /// Starts the copy. The host's memory may be changed once the stream has got there.
  Status upload(cudaStream_t stream);
  /// Returns an offset's address on the device. Valid after upload().
  template <class T>
  const T* at(size_t offset) const {
    return reinterpret_cast<const T*>(device_.get() + offset);
  }

 private:
  Result<std::byte*> reserve(size_t count);

  HostBlob host_;
  DeviceBlob device_;
  size_t host_capacity_ = 0, device_capacity_ = 0, used_ = 0;
};

}  // namespace keepbox::cuda
