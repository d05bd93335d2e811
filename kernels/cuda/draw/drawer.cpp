// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects operations in pinned memory.
#include "kernels/cuda/draw/drawer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace keepbox::cuda {
namespace {

/// Coverage in bytes from which operations are executed before more are collected.
constexpr size_t kMaxCover = size_t{32} << 20;

/// Grows host memory, whose first bytes are kept.
Status grow_host(HostBlob& blob, size_t used, size_t& capacity, size_t wanted) {
  if (wanted <= capacity) return {};
  const size_t next = std::max(wanted, 2 * capacity);
  KB_ASSIGN(HostBlob larger, allocate_host(next));
  if (used != 0) std::memcpy(larger.get(), blob.get(), used);
  blob = std::move(larger);
  capacity = next;
  return {};
}

/// Makes device memory as large as that of the host.
Status match(DeviceBlob& blob, size_t& capacity, size_t wanted) {
  if (wanted <= capacity) return {};
  capacity = 0;
  KB_ASSIGN(blob, allocate_device(wanted));
  capacity = wanted;
  return {};
}

uint8_t* address(const DrawnPlane& plane, const DrawnRect& at) {
  return plane.pixels + static_cast<size_t>(at.y) * plane.stride +
         static_cast<size_t>(at.x * plane.channels * plane.bytes);
}

size_t row_bytes(const DrawnPlane& plane, const DrawnRect& at) {
  return static_cast<size_t>(at.width * plane.channels * plane.bytes);
}

bool aligned(const DrawnPlane& plane) {
  return plane.bytes == 1 || (std::bit_cast<uintptr_t>(plane.pixels) | plane.stride) % 2 == 0;
}

}  // namespace

Status Drawer::begin(std::span<const DrawnPlane> planes, cudaStream_t stream) {
  if (!std::ranges::all_of(planes, aligned))
    return reject(ErrorKind::kInvalid, "The frame's 16-bit planes begin at odd addresses");
  if (uploaded_ == nullptr) {
    KB_ASSIGN(uploaded_, make_event());
    KB_ASSIGN(drawn_, make_event());
  }
  job_ = {};
  std::ranges::copy(planes, job_.planes);
  job_.plane_count = static_cast<uint32_t>(planes.size());
  stream_ = stream;
  cover_bytes_ = 0;
  return {};
}

/// Waits until the last upload has read the host memory.
Status Drawer::prepare() {
  if (!std::exchange(waiting_, false)) return {};
  return check(cudaEventSynchronize(uploaded_.get()), "cudaEventSynchronize");
}

Status Drawer::reserve(size_t operations, size_t bytes) {
  KB_TRY(prepare());
  KB_TRY(grow_host(operations_, job_.count * sizeof(DrawOperation), operation_capacity_,
                   operations * sizeof(DrawOperation)));
  if (bytes > std::numeric_limits<uint32_t>::max())
    return reject(ErrorKind::kNoResource, "What is drawn on a frame exceeds 4 GiB");
  return grow_host(cover_, cover_bytes_, cover_capacity_, bytes);
}

Status Drawer::fill(uint32_t plane, const DrawnRect& at, const Paint& paint) {
  KB_TRY(reserve(job_.count + 1, cover_bytes_));
  auto* const all = reinterpret_cast<DrawOperation*>(operations_.get());
  all[job_.count++] = {plane, at, paint, 0, false};
  return {};
}

Status Drawer::blend(uint32_t plane, const DrawnRect& at, const Paint& paint, const uint8_t* cover,
                     size_t stride) {
  const auto width = static_cast<size_t>(at.width), height = static_cast<size_t>(at.height);
  if (cover_bytes_ + width * height > kMaxCover) KB_TRY(flush());
  KB_TRY(reserve(job_.count + 1, cover_bytes_ + width * height));
  auto* to = reinterpret_cast<uint8_t*>(cover_.get()) + cover_bytes_;
  for (size_t row = 0; row < height; ++row)
    std::memcpy(to + row * width, cover + row * stride, width);
  auto* const all = reinterpret_cast<DrawOperation*>(operations_.get());
  all[job_.count++] = {plane, at, paint, static_cast<uint32_t>(cover_bytes_), true};
  cover_bytes_ += width * height;
  return {};
}

/// Uploads and launches, after drawings on other streams that read the same memory.
Status Drawer::start() {
  KB_TRY(match(device_operations_, device_operation_capacity_, operation_capacity_));
  KB_TRY(match(device_cover_, device_cover_capacity_, cover_capacity_));
  if (drawing_) KB_TRY_CUDA(cudaStreamWaitEvent(stream_, drawn_.get(), 0));
  KB_TRY_CUDA(cudaMemcpyAsync(device_operations_.get(), operations_.get(),
                              job_.count * sizeof(DrawOperation), cudaMemcpyHostToDevice, stream_));
  if (cover_bytes_ != 0)
    KB_TRY_CUDA(cudaMemcpyAsync(device_cover_.get(), cover_.get(), cover_bytes_,
                                cudaMemcpyHostToDevice, stream_));
  KB_TRY_CUDA(cudaEventRecord(uploaded_.get(), stream_));
  waiting_ = true;
  job_.operations = reinterpret_cast<const DrawOperation*>(device_operations_.get());
  job_.cover = reinterpret_cast<const uint8_t*>(device_cover_.get());
  KB_TRY_CUDA(launch_draw(job_, stream_));
  KB_TRY_CUDA(cudaEventRecord(drawn_.get(), stream_));
  drawing_ = true;
  return {};
}

Status Drawer::flush() {
  if (job_.count == 0) return {};
  const Status started = start();
  if (!started) (void)cudaStreamSynchronize(stream_);  // an upload may still read the host memory
  job_.count = 0;
  cover_bytes_ = 0;
  return started;
}

Status Drawer::read(uint32_t plane, const DrawnRect& at, uint8_t* pixels, size_t stride) {
  KB_TRY(flush());
  const DrawnPlane& from = job_.planes[plane];
  KB_TRY_CUDA(cudaMemcpy2DAsync(pixels, stride, address(from, at), from.stride, row_bytes(from, at),
                                static_cast<size_t>(at.height), cudaMemcpyDeviceToHost, stream_));
  return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Status Drawer::write(uint32_t plane, const DrawnRect& at, const uint8_t* pixels, size_t stride) {
  const DrawnPlane& to = job_.planes[plane];
  KB_TRY_CUDA(cudaMemcpy2DAsync(address(to, at), to.stride, pixels, stride, row_bytes(to, at),
                                static_cast<size_t>(at.height), cudaMemcpyHostToDevice, stream_));
  return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

}  // namespace keepbox::cuda
