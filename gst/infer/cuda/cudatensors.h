// SPDX-License-Identifier: LGPL-2.1-or-later
// Outputs of runs as GstBuffers in CUDA memory, with their ready events.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gst/infer/cuda/cudaruns.h"
#include "gst/infer/inferredtensor.h"

namespace keepbox {

/// Memory for tensors that were handed out. Thread-safe, except take().
class CudaTensorPool {
 public:
  struct PooledMemory {
    DeviceMemory memory;  // empty if the runtime's memory was handed out
    CudaEvent ready;
  };

  explicit CudaTensorPool(CudaContext context) : context_(std::move(context)) {}

  /// Returns a free piece of that size, or a new one; with 0 bytes it has only an event.
  Result<PooledMemory> take(size_t bytes);
  void give_back(PooledMemory piece);

 private:
  CudaContext context_;
  std::mutex lock_;
  std::vector<PooledMemory> free_;
};

/// An output whose memory lives as long as its tensors.
class CudaTensor {
 public:
  /// Enqueues a copy of a graph's output, or takes the runtime's memory, and records the event
  /// after which it is complete. @param owner outlives the tensors; it owns session and pieces.
  static Result<std::shared_ptr<CudaTensor>> create(std::shared_ptr<void> owner,
                                                    CudaTensorPool& pieces,
                                                    const CudaSession& session, CudaOutput output);
  /// Enqueues copies of tensors on a stream, one after the other, into memory of their own.
  static Result<std::shared_ptr<CudaTensor>> joined(std::shared_ptr<void> owner,
                                                    CudaTensorPool& pieces,
                                                    const CudaSession& session, CUstream stream,
                                                    std::vector<OwnedBuffer> parts);
  ~CudaTensor();

  const Shape& shape() const { return shape_; }
  size_t bytes() const { return bytes_; }
  DataType type() const { return type_; }

  /// Wraps a range of bytes in a buffer.
  static Result<OwnedBuffer> wrapped(const std::shared_ptr<CudaTensor>& tensor, size_t offset,
                                     size_t bytes);

 private:
  CudaTensor(std::shared_ptr<void> owner, CudaTensorPool& pieces, const CudaSession& session)
      : owner_(std::move(owner)), pieces_(pieces), session_(session) {}

  std::shared_ptr<void> owner_;
  CudaTensorPool& pieces_;
  const CudaSession& session_;
  CudaTensorPool::PooledMemory piece_;
  RuntimeTensor value_ = nullptr;
  std::vector<OwnedBuffer> parts_;  // that are being copied
  CUdeviceptr data_ = 0;
  DataType type_ = DataType::kFloat32;
  Shape shape_;
  size_t bytes_ = 0;
};

}  // namespace keepbox
