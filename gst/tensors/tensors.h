// SPDX-License-Identifier: LGPL-2.1-or-later
// Between GstTensorMeta and TensorView.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <array>
#include <optional>
#include <span>

#include "core/tensor.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// All tensors of a buffer, mapped for reading while this lives. A buffer may carry several
/// GstTensorMeta; tensors of a type that core does not know are left out.
class FrameTensors {
 public:
  static constexpr size_t kMost = 32;

  FrameTensors() = default;
  FrameTensors(const FrameTensors&) = delete;
  FrameTensors& operator=(const FrameTensors&) = delete;
  ~FrameTensors() { unmap(); }

  /// Maps in place of what was mapped before. With kCuda preferred, tensors stay in CUDA memory if
  /// all of them lie there, each in one piece and all in one context; others come to the host.
  /// @param buffer must outlive this. kTruncated when a tensor has no data that can be mapped,
  /// kNoResource when a device does not give it back.
  Status map(GstBuffer* buffer, MemorySpace preferred = MemorySpace::kSystem);

  std::span<const TensorView> views() const { return {views_.data(), count_}; }

  MemorySpace space() const { return context_ ? MemorySpace::kCuda : MemorySpace::kSystem; }
  /// Of tensors in CUDA memory; else empty.
  const CudaContext& context() const { return context_; }
  /// Was data copied from a device to the host?
  bool downloaded() const { return downloaded_; }

 private:
  struct Mapping {
    GstBuffer* buffer;
    GstMapInfo info;
  };
  Status map_one(const GstTensor& tensor);
  bool map_data(GstBuffer* data, GstMapInfo* info, TensorView& view);
  void unmap();

  std::array<TensorView, kMost> views_;
  std::array<Mapping, kMost> mappings_;
  size_t count_ = 0;
  CudaContext context_;
  bool downloaded_ = false;
};

/// Is it of a type and rank that core knows?
bool is_readable(const GstTensor& tensor);

std::optional<DataType> to_data_type(GstTensorDataType type);
GstTensorDataType to_gst(DataType type);

/// Adds a GstTensorMeta of one tensor, beside any that the buffer has.
/// @param data transfer full; its size is that of the shape.
void add_tensor(GstBuffer* buffer, const char* id, DataType type, const Shape& shape,
                GstTensorDimOrder order, GstBuffer* data);

/// For GstBaseTransform's prepare_output_buffer of elements that write in place: the input, or a
/// copy where others hold it, with the tensor metas that gst_buffer_copy() leaves behind before
/// GStreamer 1.27.
GstFlowReturn writable_with_tensors(GstBaseTransform*, GstBuffer* input, GstBuffer** output);

/// Sink caps of an element that reads tensors: any video, and from GStreamer 1.28 on the tensor
/// groups of the known detectors, by which tensordecodebin finds it. Transfer full.
GstCaps* tensor_sink_caps();

}  // namespace keepbox
