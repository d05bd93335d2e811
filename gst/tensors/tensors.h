// SPDX-License-Identifier: LGPL-2.1-or-later
// Between GStreamer's tensors and TensorView.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/tensor.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Which of a buffer's tensors.
enum class Which {
  kAll,
  kUndecoded,  // those that no decoder upstream has taken its boxes from
};

/// Tensors of a frame, mapped for reading while this lives: those of a TensorWalk but for types
/// that core does not know.
class FrameTensors {
 public:
  static constexpr size_t kMost = 32;

  FrameTensors() = default;
  FrameTensors(const FrameTensors&) = delete;
  FrameTensors& operator=(const FrameTensors&) = delete;
  ~FrameTensors() { unmap(); }

  /// Lists tensors without touching their data, in place of those listed before.
  /// @param buffer must outlive this, and gets no meta and no mtd while it is in use. kUnsupported
  /// when there are more than kMost.
  Status look(GstBuffer* buffer, Which which = Which::kAll);
  /// Id, type and shape of the listed ones. No data.
  std::span<const TensorView> listed() const { return {listed_.data(), listed_count_}; }

  /// A listed tensor is quantised: see TensorView. Until the next look().
  /// @param number in listed().
  void set_quantization(size_t number, float scale, float zero_point) {
    listed_[number].scale = scale;
    listed_[number].zero_point = zero_point;
  }

  /// Maps some of the listed tensors in place of what was mapped before. With kCuda preferred, they
  /// stay in CUDA memory if all of them lie there, each in one piece and all in one context; others
  /// come to the host. @param which numbers in listed().
  /// kTruncated when a tensor has no data that can be mapped, kNoResource when a device does not give
  /// it back.
  Status map(std::span<const uint32_t> which, MemorySpace preferred = MemorySpace::kSystem);
  Status map_all(MemorySpace preferred = MemorySpace::kSystem);

  /// The mapped ones, in the order that they were named in.
  std::span<const TensorView> views() const { return {views_.data(), count_}; }

  MemorySpace space() const { return context_ ? MemorySpace::kCuda : MemorySpace::kSystem; }
  /// Of tensors in CUDA memory; else empty.
  const CudaContext& context() const { return context_; }
  /// Was data copied from a device to the host?
  bool downloaded() const { return downloaded_; }

  /// The CUDA context that all of some listed tensors lie in, each in one piece, or none: backends take
  /// a frame from one memory. @param which numbers in listed().
  CudaContext common_context(std::span<const uint32_t> which) const;

  /// Notes on the buffer that boxes were made of tensors: those named, with all that were attached
  /// in one piece with them. @param which numbers in listed().
  void mark_decoded(GstBuffer* buffer, std::span<const uint32_t> which) const;

  /// What a producer said of the order of dimensions. @param number in listed().
  GstTensorDimOrder order(size_t number) const { return tensors_[number].tensor->dims_order; }
  /// What it said of itself, or nullptr. @param number in listed().
  SharedTensorSource source(size_t number) const {
    return sources_[number] != nullptr ? sources_[number]
                                       : tensor_source(tensors_[number].tensor->data);
  }
  /// Puts another source in place of a listed tensor's, until the next look().
  void set_source(size_t number, SharedTensorSource source) {
    sources_[number] = std::move(source);
  }

 private:
  struct Listed {
    const GstTensor* tensor;
    const void* parcel;  // as TensorWalk says it
  };
  Status map_one(uint32_t number);
  bool map_data(GstBuffer* data, GstMapInfo* info, TensorView& view);
  void unmap();

  std::array<Listed, kMost> tensors_;
  std::array<SharedTensorSource, kMost> sources_;  // in place of what the tensors' data has
  std::array<TensorView, kMost> listed_, views_;
  struct Mapping {
    GstBuffer* buffer;
    GstMapInfo info;
  };
  std::array<Mapping, kMost> mappings_;
  size_t listed_count_ = 0, count_ = 0;
  CudaContext context_;
  bool downloaded_ = false;
};

/// The name that the producer gave it; empty for none, and for a number that is no quark.
std::string_view id_of(const GstTensor& tensor);

/// Is it of a type and rank that core knows?
bool is_readable(const GstTensor& tensor);

std::optional<DataType> to_data_type(GstTensorDataType type);
GstTensorDataType to_gst(DataType type);

/// A tensor for a buffer.
struct NewTensor {
  std::string id;  // may be empty
  DataType type = DataType::kFloat32;
  Shape shape;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  GstBuffer* data = nullptr;  // transfer full; its size is that of the shape
};

/// Adds one GstTensorMeta of a producer's tensors, beside any that the buffer has.
void add_tensors(GstBuffer* buffer, std::span<const NewTensor> tensors);

/// The same of one tensor. @param id may be nullptr. @param data transfer full.
void add_tensor(GstBuffer* buffer, const char* id, DataType type, const Shape& shape,
                GstTensorDimOrder order, GstBuffer* data);

/// A shallow copy with the tensor metas that gst_buffer_copy() leaves behind before GStreamer 1.27.
GstBuffer* copy_with_tensors(GstBuffer* buffer);

/// A tensor's data, the same memory, under another source. Transfer full.
GstBuffer* shared_data(GstBuffer* data, SharedTensorSource source);

/// What a tensor's source is on another frame.
using MovedSource = std::function<SharedTensorSource(const SharedTensorSource&)>;

/// Adds the tensors of one buffer to another, and what is noted of their decoding. Their data is
/// shared; where they say a source, `moved` says what becomes of it.
void carry_tensors(GstBuffer* from, GstBuffer* to, const MovedSource& moved);

/// Gives a tensor on its way to a buffer, which has the note already, data that says the moved
/// source, where it said one. @param tensor holds its data.
void move_source(GstTensor* tensor, GstBuffer* to, const MovedSource& moved);

/// Is it the API of GstTensorMeta, or of that note?
bool holds_tensors(GType api);

/// For GstBaseTransform's prepare_output_buffer of elements that write in place: the input, or a
/// copy with its tensors where others hold it.
GstFlowReturn writable_with_tensors(GstBaseTransform*, GstBuffer* input, GstBuffer** output);

}  // namespace keepbox
