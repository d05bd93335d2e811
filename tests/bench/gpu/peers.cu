// SPDX-License-Identifier: LGPL-2.1-or-later
// Faster R-CNN's NMS; tensorRT_Pro's decoding and fast NMS.
#include "tests/bench/gpu/peers.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "tests/bench/gpu/cuda_check.h"

namespace keepbox::peers {
namespace {

constexpr int kTile = 64;  // boxes, one per bit of a mask word
using Mask = unsigned long long;

template <Pixels kPixels>
__device__ bool overlaps(const ScoredBox& a, const ScoredBox& b, float threshold) {
  constexpr float kMore = kPixels == Pixels::kPlusOne ? 1.0f : 0.0f;
  const float width = fmaxf(fminf(a.x2, b.x2) - fmaxf(a.x1, b.x1) + kMore, 0.0f);
  const float height = fmaxf(fminf(a.y2, b.y2) - fmaxf(a.y1, b.y1) + kMore, 0.0f);
  const float common = width * height;
  const float area_a = (a.x2 - a.x1 + kMore) * (a.y2 - a.y1 + kMore);
  const float area_b = (b.x2 - b.x1 + kMore) * (b.y2 - b.y1 + kMore);
  return common / (area_a + area_b - common) > threshold;
}

/// One block per pair of tiles, in both triangles of the matrix as published; one thread per box of
/// the row.
template <Pixels kPixels>
__global__ void compare_tiles(int count, float threshold, const ScoredBox* boxes, Mask* masks) {
  __shared__ ScoredBox others[kTile];
  const int row = static_cast<int>(blockIdx.y), column = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int rows = min(count - row * kTile, kTile);
  const int columns = min(count - column * kTile, kTile);
  if (thread < columns) others[thread] = boxes[column * kTile + thread];
  __syncthreads();
  if (thread >= rows) return;
  const ScoredBox mine = boxes[row * kTile + thread];
  Mask mask = 0;
  for (int i = row == column ? thread + 1 : 0; i < columns; ++i)
    if (overlaps<kPixels>(mine, others[i], threshold)) mask |= Mask{1} << i;
  masks[static_cast<size_t>(row * kTile + thread) * gridDim.x + column] = mask;
}

/// Reduces the masks on the host: a kept box removes the boxes that it overlaps.
void reduce(const std::vector<Mask>& masks, size_t boxes, size_t tiles, std::vector<int>& kept) {
  std::vector<Mask> removed(tiles);
  kept.clear();
  for (size_t i = 0; i < boxes; ++i) {
    if (removed[i / kTile] >> (i % kTile) & 1) continue;
    kept.push_back(static_cast<int>(i));
    for (size_t t = i / kTile; t < tiles; ++t) removed[t] |= masks[i * tiles + t];
  }
}

constexpr unsigned kThreads = 512;

unsigned blocks_for(size_t jobs) { return static_cast<unsigned>((jobs + kThreads - 1) / kThreads); }

/// Output of the kernels: a count of arrivals, as a float, before the boxes.
struct FastResult {
  float arrived;
  FastBox boxes[1];

  static size_t bytes(size_t most) { return sizeof(float) + most * sizeof(FastBox); }
};

__device__ void to_frame(const float (&matrix)[6], float& x, float& y) {
  const float from_x = x, from_y = y;
  x = matrix[0] * from_x + matrix[1] * from_y + matrix[2];
  y = matrix[3] * from_x + matrix[4] * from_y + matrix[5];
}

__global__ void decode(FastSetup setup, const float* rows, FastResult* result) {
  const size_t anchor = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (anchor >= setup.anchors) return;
  const size_t first = setup.objectness ? 5 : 4;
  const float* row = rows + anchor * (first + setup.classes);
  const float objectness = setup.objectness ? row[4] : 1.0f;
  if (objectness < setup.score_threshold) return;
  float score = row[first];
  size_t label = 0;
  for (size_t c = 1; c < setup.classes; ++c)
    if (row[first + c] > score) score = row[first + c], label = c;
  score *= objectness;
  if (score < setup.score_threshold) return;
  const size_t slot = static_cast<size_t>(atomicAdd(&result->arrived, 1.0f));
  if (slot >= setup.most) return;
  FastBox box{row[0] - row[2] * 0.5f,
              row[1] - row[3] * 0.5f,
              row[0] + row[2] * 0.5f,
              row[1] + row[3] * 0.5f,
              score,
              static_cast<float>(label),
              1.0f};
  to_frame(setup.to_frame, box.x1, box.y1);
  to_frame(setup.to_frame, box.x2, box.y2);
  result->boxes[slot] = box;
}

__device__ float iou(const FastBox& a, const FastBox& b) {
  const float width = fmaxf(fminf(a.x2, b.x2) - fmaxf(a.x1, b.x1), 0.0f);
  const float height = fmaxf(fminf(a.y2, b.y2) - fmaxf(a.y1, b.y1), 0.0f);
  const float common = width * height;
  if (common == 0.0f) return 0.0f;
  const float area_a = fmaxf(a.x2 - a.x1, 0.0f) * fmaxf(a.y2 - a.y1, 0.0f);
  const float area_b = fmaxf(b.x2 - b.x1, 0.0f) * fmaxf(b.y2 - b.y1, 0.0f);
  return common / (area_a + area_b - common);
}

__global__ void suppress(size_t most, float threshold, FastResult* result) {
  const size_t mine = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const size_t count = min(static_cast<size_t>(result->arrived), most);
  if (mine >= count) return;
  const FastBox box = result->boxes[mine];
  for (size_t i = 0; i < count; ++i) {
    const FastBox& other = result->boxes[i];
    if (i == mine || other.label != box.label || other.score < box.score) continue;
    // of equal scores the last arrival stays
    if (other.score == box.score && i < mine) continue;
    if (iou(box, other) > threshold) {
      result->boxes[mine].keep = 0.0f;
      return;
    }
  }
}

template <class T>
T* device_memory(size_t bytes) {
  void* memory = nullptr;
  KB_CUDA(cudaMalloc(&memory, bytes));
  return static_cast<T*>(memory);
}

}  // namespace

void faster_rcnn_nms(std::span<const ScoredBox> boxes, float threshold, Pixels pixels,
                     std::vector<int>& kept) {
  const size_t tiles = (boxes.size() + kTile - 1) / kTile;
  kept.clear();
  if (tiles == 0) return;
  auto* on_device = device_memory<ScoredBox>(boxes.size_bytes());
  KB_CUDA(cudaMemcpy(on_device, boxes.data(), boxes.size_bytes(), cudaMemcpyHostToDevice));
  auto* masks_on_device = device_memory<Mask>(boxes.size() * tiles * sizeof(Mask));
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(tiles));
  const int count = static_cast<int>(boxes.size());
  if (pixels == Pixels::kPlusOne)
    compare_tiles<Pixels::kPlusOne><<<grid, kTile>>>(count, threshold, on_device, masks_on_device);
  else
    compare_tiles<Pixels::kContinuous>
        <<<grid, kTile>>>(count, threshold, on_device, masks_on_device);
  KB_CUDA(cudaGetLastError());
  std::vector<Mask> masks(boxes.size() * tiles);
  KB_CUDA(cudaMemcpy(masks.data(), masks_on_device, masks.size() * sizeof(Mask),
                     cudaMemcpyDeviceToHost));
  reduce(masks, boxes.size(), tiles, kept);
  KB_CUDA(cudaFree(on_device));
  KB_CUDA(cudaFree(masks_on_device));
}

/// Memory and stream of a call.
struct FastDecoder::Memory {
  cudaStream_t stream = nullptr;
  float* rows = nullptr;
  size_t row_bytes = 0;
  FastResult* result = nullptr;  // on the GPU
  FastResult* downloaded = nullptr;

  explicit Memory(const FastSetup& setup) {
    KB_CUDA(cudaStreamCreate(&stream));
    if (setup.source == Source::kSystem) {
      row_bytes = setup.anchors * (setup.classes + (setup.objectness ? 5 : 4)) * sizeof(float);
      rows = device_memory<float>(row_bytes);
    }
    result = device_memory<FastResult>(FastResult::bytes(setup.most));
    void* pinned = nullptr;
    KB_CUDA(cudaMallocHost(&pinned, FastResult::bytes(setup.most)));
    downloaded = static_cast<FastResult*>(pinned);
  }

  ~Memory() {
    KB_CUDA(cudaStreamDestroy(stream));
    KB_CUDA(cudaFree(rows));
    KB_CUDA(cudaFree(result));
    KB_CUDA(cudaFreeHost(downloaded));
  }

  /// Runs both kernels to the end and copies the whole array of results to the host.
  void run(const FastSetup& setup, const float* from) {
    if (rows != nullptr)
      KB_CUDA(cudaMemcpyAsync(rows, from, row_bytes, cudaMemcpyHostToDevice, stream));
    KB_CUDA(cudaMemsetAsync(result, 0, sizeof(float), stream));
    const float* source = rows != nullptr ? rows : from;
    decode<<<blocks_for(setup.anchors), kThreads, 0, stream>>>(setup, source, result);
    KB_CUDA(cudaGetLastError());
    suppress<<<blocks_for(setup.most), kThreads, 0, stream>>>(setup.most, setup.iou_threshold,
                                                              result);
    KB_CUDA(cudaGetLastError());
    KB_CUDA(cudaMemcpyAsync(downloaded, result, FastResult::bytes(setup.most),
                            cudaMemcpyDeviceToHost, stream));
    KB_CUDA(cudaStreamSynchronize(stream));
  }
};

FastDecoder::FastDecoder(const FastSetup& setup) : setup_(setup) {
  if (setup.allocate == Allocate::kOnce) memory_ = std::make_unique<Memory>(setup);
}

FastDecoder::~FastDecoder() = default;

const std::vector<FastBox>& FastDecoder::run(const float* rows) {
  std::unique_ptr<Memory> own;
  if (!memory_) own = std::make_unique<Memory>(setup_);
  Memory& memory = memory_ ? *memory_ : *own;
  memory.run(setup_, rows);
  candidates_ = static_cast<size_t>(memory.downloaded->arrived);
  boxes_.clear();
  for (const FastBox& box : std::span(memory.downloaded->boxes, std::min(candidates_, setup_.most)))
    if (box.keep != 0.0f) boxes_.push_back(box);
  return boxes_;
}

}  // namespace keepbox::peers
