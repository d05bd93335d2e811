// SPDX-License-Identifier: LGPL-2.1-or-later
// Grows pinned memory, whose contents are kept.
#include "kernels/cuda/draw/upload_arena.h"

#include <algorithm>
#include <cstring>

namespace keepbox::cuda {
namespace {

constexpr size_t kAlignment = 16, kMinCapacity = size_t{1} << 16;

}  // namespace

/// Returns memory at the next aligned offset, which becomes the last one in use.
Result<std::byte*> UploadArena::reserve(size_t count) {
  const size_t first = (used_ + kAlignment - 1) / kAlignment * kAlignment;
  if (first + count > host_capacity_) {
    const size_t next = std::max({first + count, 2 * host_capacity_, kMinCapacity});
    KB_ASSIGN(HostBlob larger, allocate_host(next));
    if (used_ != 0) std::memcpy(larger.get(), host_.get(), used_);
    host_ = std::move(larger);
    host_capacity_ = next;
  }
  used_ = first + count;
  return host_.get() + first;
}

Result<size_t> UploadArena::add(const void* bytes, size_t count) {
  KB_ASSIGN(std::byte* const to, reserve(count));
  if (count != 0) std::memcpy(to, bytes, count);
  return static_cast<size_t>(to - host_.get());
}

Result<size_t> UploadArena::add(const ByteRows& rows) {
  const auto width = static_cast<size_t>(rows.width), height = static_cast<size_t>(rows.height);
  if (rows.stride == width) return add(rows.bytes, width * height);
  KB_ASSIGN(std::byte* const to, reserve(width * height));
  for (size_t y = 0; y < height; ++y)
    std::memcpy(to + y * width, rows.bytes + y * rows.stride, width);
  return static_cast<size_t>(to - host_.get());
}

Status UploadArena::upload(cudaStream_t stream) {
  if (used_ > device_capacity_) {
    device_capacity_ = 0;
    KB_ASSIGN(device_, allocate_device(host_capacity_));
    device_capacity_ = host_capacity_;
  }
  return check(cudaMemcpyAsync(device_.get(), host_.get(), used_, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync");
}

}  // namespace keepbox::cuda
