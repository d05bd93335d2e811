// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects operations, and uploads them at once.
#include "kernels/cuda/draw/drawer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/formula/mask.h"

namespace keepbox::cuda {
namespace {

/// Coverage in bytes from which operations are executed before more are collected.
constexpr size_t kMaxCover = size_t{32} << 20;

constexpr size_t area(int width, int height) {
  return static_cast<size_t>(width) * static_cast<size_t>(height);
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
  for (Slot& each : slots_)
    if (each.drawn == nullptr) {
      KB_ASSIGN(each.drawn, make_event());
    }
  std::ranges::copy(planes, planes_.begin());
  plane_count_ = static_cast<uint32_t>(planes.size());
  stream_ = stream;
  clear();
  return {};
}

bool Drawer::is_empty() const {
  return std::ranges::all_of(lists_, [](const PlaneList& list) { return list.at.empty(); });
}

void Drawer::clear() {
  for (PlaneList& list : lists_) list.at.clear(), list.operations.clear();
  masks_.clear();
  tiles_.clear();
  slot().arena.clear();
  made_bytes_ = 0;
}

/// Waits until the memory can be used again.
Status Drawer::prepare() {
  if (!std::exchange(slot().drawing, false)) return {};
  return check(cudaEventSynchronize(slot().drawn.get()), "cudaEventSynchronize");
}

/// Prepares, after executing what was collected if there would be too much coverage.
Status Drawer::make_room(size_t uploaded, size_t made) {
  if (slot().arena.size() + uploaded > kMaxCover || made_bytes_ + made > kMaxCover) KB_TRY(flush());
  return prepare();
}

void Drawer::add(uint32_t plane, const PlaneInk& ink, const Cover& cover) {
  if (ink.at.width <= 0 || ink.at.height <= 0) return;
  lists_[plane].at.push_back(ink.at);
  lists_[plane].operations.push_back({ink.paint, cover, ink.shift_x, ink.shift_y});
}

void Drawer::add(std::span<const PlaneInk> inks, const Cover& cover) {
  for (uint32_t i = 0; i < inks.size(); ++i) add(i, inks[i], cover);
}

Status Drawer::fill(uint32_t plane, const DrawnRect& at, const Paint& paint) {
  add(plane, {at, paint}, {});
  return {};
}

Status Drawer::blend(const ByteRows& cover, std::span<const PlaneInk> inks, uint8_t gain) {
  KB_TRY(make_room(area(cover.width, cover.height), 0));
  KB_ASSIGN(const size_t offset, slot().arena.add(cover));
  add(inks, {CoverKind::kUploaded, gain, static_cast<uint32_t>(offset),
             static_cast<uint32_t>(cover.width)});
  return {};
}

/// Adds the tiles of an area whose coverage is made, and returns its offset.
uint32_t Drawer::add_made(CoverTile of, int width, int height) {
  const auto offset = static_cast<uint32_t>(made_bytes_);
  made_bytes_ += area(width, height);
  for (int y = 0; y * kCoverTileRows < height; ++y)
    for (int x = 0; x * kCoverTileColumns < width; ++x) {
      of.column = static_cast<uint16_t>(x);
      of.row = static_cast<uint16_t>(y);
      tiles_.push_back(of);
    }
  return offset;
}

Status Drawer::tint(const HostMask& mask, std::span<const PlaneInk> inks) {
  const auto [x, y, width, height] = mask.at;
  KB_TRY(make_room(area(mask.pixels.width, mask.pixels.height), area(width, height)));
  KB_ASSIGN(const size_t pixels, slot().arena.add(mask.pixels));
  const uint32_t cover = add_made({.index = static_cast<uint32_t>(masks_.size())}, width, height);
  masks_.push_back({static_cast<uint32_t>(pixels), cover, mask.across, mask.down, mask.at,
                    std::min(mask.edge, kWidestEdge)});
  add(inks, {CoverKind::kMade, 1, cover, static_cast<uint32_t>(width)});
  return {};
}

/// Uploads everything that was collected, and returns the jobs on it.
Result<DrawJob> Drawer::upload(CoverJob& covers) {
  UploadArena& arena = slot().arena;
  std::array<size_t, kDrawnPlanes> at{}, operations{};
  for (size_t i = 0; i < plane_count_; ++i) {
    KB_ASSIGN(at[i], arena.add(lists_[i].at));
    KB_ASSIGN(operations[i], arena.add(lists_[i].operations));
  }
  KB_ASSIGN(const size_t masks, arena.add(masks_));
  KB_ASSIGN(const size_t tiles, arena.add(tiles_));
  KB_TRY(arena.upload(stream_));
  auto* const made = reinterpret_cast<uint8_t*>(slot().made.get());
  const auto* const uploaded = arena.at<uint8_t>(0);
  covers = {.masks = arena.at<DrawnMask>(masks),
            .tiles = arena.at<CoverTile>(tiles),
            .tile_count = static_cast<uint32_t>(tiles_.size()),
            .uploaded = uploaded,
            .made = made};
  DrawJob job{.planes = {}, .plane_count = plane_count_, .uploaded = uploaded, .made = made};
  for (size_t i = 0; i < plane_count_; ++i)
    job.planes[i] = {planes_[i], static_cast<uint32_t>(lists_[i].at.size()),
                     arena.at<DrawnRect>(at[i]), arena.at<DrawOperation>(operations[i])};
  return job;
}

Status Drawer::start() {
  KB_TRY(prepare());
  Slot& own = slot();
  if (made_bytes_ > own.made_capacity) {
    own.made_capacity = 0;
    KB_ASSIGN(own.made, allocate_device(made_bytes_));
    own.made_capacity = made_bytes_;
  }
  CoverJob covers;
  KB_ASSIGN(const DrawJob job, upload(covers));
  KB_TRY_CUDA(launch_covers(covers, stream_));
  KB_TRY_CUDA(launch_draw(job, stream_));
  KB_TRY_CUDA(cudaEventRecord(own.drawn.get(), stream_));
  own.drawing = true;
  return {};
}

Status Drawer::flush() {
  if (is_empty()) return {};
  const Status started = start();
  if (!started) (void)cudaStreamSynchronize(stream_);  // an upload may still read the host memory
  slot_ = (slot_ + 1) % kSlots;
  clear();
  return started;
}

Status Drawer::read(uint32_t plane, const DrawnRect& at, uint8_t* pixels, size_t stride) {
  KB_TRY(flush());
  const DrawnPlane& from = planes_[plane];
  KB_TRY_CUDA(cudaMemcpy2DAsync(pixels, stride, address(from, at), from.stride, row_bytes(from, at),
                                static_cast<size_t>(at.height), cudaMemcpyDeviceToHost, stream_));
  return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Status Drawer::write(uint32_t plane, const DrawnRect& at, const uint8_t* pixels, size_t stride) {
  const DrawnPlane& to = planes_[plane];
  KB_TRY_CUDA(cudaMemcpy2DAsync(address(to, at), to.stride, pixels, stride, row_bytes(to, at),
                                static_cast<size_t>(at.height), cudaMemcpyHostToDevice, stream_));
  return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

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
