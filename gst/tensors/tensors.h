// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors attached to a buffer, of any producer, in any memory.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/base/tensor.h"
#include "gst/tensors/device.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

// Converts between GStreamer's tensors and TensorView.

/// Selects tensors of a buffer.
enum class TensorSelection {
  kAll,
  kUndecoded,  // tensors that no decoder upstream has decoded
  kOfFrames,   // of these, tensors of frames or their tiles, not of objects
  kOfObjects,  // of these, tensors of objects
};

/// Tensors of a frame, mapped for reading during its lifetime: those of a TensorWalk except types
/// that core does not support.
class FrameTensors {
 public:
  static constexpr size_t kMax = 32;

  FrameTensors() = default;
  FrameTensors(const FrameTensors&) = delete;
  FrameTensors& operator=(const FrameTensors&) = delete;
  ~FrameTensors() { unmap(); }

  /// Lists tensors without touching their data, replacing the previous list. @param buffer must
  /// outlive this, and must not get metas or mtds while in use. kUnsupported if it has more than
  /// kMax tensors.
  Status list_tensors(GstBuffer* buffer, TensorSelection which = TensorSelection::kAll);
  /// Returns id, type and shape of the listed tensors, without data.
  std::span<const TensorView> listed() const { return {listed_.data(), listed_count_}; }

  /// Sets the quantization of a listed tensor (see TensorView) until the next list_tensors().
  /// @param number index in listed().
  void set_quantization(size_t number, float scale, float zero_point) {
    listed_[number].scale = scale;
    listed_[number].zero_point = zero_point;
  }

  /// Makes the listed tensors have a single image, the first one. The number of images is the first
  /// dimension of each.
  void split_images();
  /// Selects the image that views() show, also after another map(). @return false if a mapped
  /// tensor does not have it. @pre split_images()
  bool select_image(size_t image);

  /// Maps some of the listed tensors, replacing previous mappings. With kCuda preferred, they stay
  /// in CUDA memory if all are there, each in one piece and all in one context; otherwise they are
  /// downloaded. @param which indices in listed(). kTruncated if a tensor has no mappable data,
  /// kNoResource if a device cannot read it back.
  Status map(std::span<const uint32_t> which, MemorySpace preferred = MemorySpace::kSystem);
  Status map_all(MemorySpace preferred = MemorySpace::kSystem);

  /// Returns the mapped tensors, in the requested order.
  std::span<const TensorView> views() const { return {views_.data(), count_}; }

  MemorySpace space() const { return context_ ? MemorySpace::kCuda : MemorySpace::kSystem; }
  /// Returns the context of tensors in CUDA memory; otherwise empty.
  const DeviceContext& context() const { return context_; }
  /// True if data was copied from a device to the host.
  bool downloaded() const { return downloaded_; }

  /// Returns the CUDA context that contains all of some listed tensors, each in one piece, or an
  /// empty one: backends take a frame from a single memory. @param which indices in listed().
  DeviceContext common_context(std::span<const uint32_t> which) const;

  /// Notes on the buffer that these tensors were decoded, together with all tensors attached at
  /// once with them. @param which indices in listed().
  void mark_decoded(GstBuffer* buffer, std::span<const uint32_t> which) const;

  /// Returns the order of dimensions set by the producer. @param number index in listed().
  GstTensorDimOrder order(size_t number) const { return tensors_[number].tensor->dims_order; }
  /// Returns the source of a listed tensor, or nullptr. @param number index in listed().
  SharedProvenance source(size_t number) const {
    return sources_[number] != nullptr ? sources_[number]
                                       : provenance_of(tensors_[number].tensor->data);
  }
  /// Replaces the source of a listed tensor until the next list_tensors().
  void set_source(size_t number, SharedProvenance source) { sources_[number] = std::move(source); }

 private:
  struct Listed {
    const GstTensor* tensor;
    const void* attachment;  // as in TensorWalk
  };
  Status map_one(uint32_t number);
  void show_image(size_t mapped);
  bool map_data(GstBuffer* data, GstMapInfo* info, TensorView& view);
  void unmap();

  std::array<Listed, kMax> tensors_;
  std::array<SharedProvenance, kMax> sources_;  // override the sources on the tensors' data
  std::array<TensorView, kMax> listed_, views_;
  std::array<size_t, kMax> images_{};  // of the listed tensors' data
  size_t image_ = 0;                   // that views show
  struct Mapping {
    GstBuffer* buffer;
    GstMapInfo info;
    uint32_t number;  // of the listed tensor
  };
  std::array<Mapping, kMax> mappings_;
  size_t listed_count_ = 0, count_ = 0;
  DeviceContext context_;
  bool downloaded_ = false;
};

/// Returns the id given by the producer; empty for none, and for an invalid quark.
std::string_view id_of(const GstTensor& tensor);

/// True if core supports its type and rank.
bool is_readable(const GstTensor& tensor);

std::optional<DataType> to_data_type(GstTensorDataType type);
GstTensorDataType to_gst(DataType type);

/// A tensor to attach to a buffer.
struct NewTensor {
  std::string id;  // may be empty
  DataType type = DataType::kFloat32;
  Shape shape;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  GstBuffer* data = nullptr;  // transfer full; its size is that of the shape
};

/// Adds one GstTensorMeta with a producer's tensors, in addition to existing ones.
void add_tensors(GstBuffer* buffer, std::span<const NewTensor> tensors);

/// Adds a single tensor. @param id may be nullptr. @param data transfer full.
void add_tensor(GstBuffer* buffer, const char* id, DataType type, const Shape& shape,
                GstTensorDimOrder order, GstBuffer* data);

/// Makes a shallow copy with the tensor metas, which gst_buffer_copy() drops before GStreamer 1.27.
GstBuffer* copy_with_tensors(GstBuffer* buffer);

/// Returns a tensor's data, sharing memory, with another source. Transfer full.
GstBuffer* shared_data(GstBuffer* data, SharedProvenance source);

/// Adds the tensors of one buffer to another, with their decoding notes. Their data is shared;
/// `moved` maps their sources.
void carry_tensors(GstBuffer* from, GstBuffer* to, const MovedProvenance& moved);

/// Replaces the data of a tensor that is moved to a buffer, which already has the note, by data
/// with the moved source, if it has a source. @param tensor holds its data.
void move_source(GstTensor* tensor, GstBuffer* to, const MovedProvenance& moved);

/// True if it is the API of GstTensorMeta, or of the note.
bool holds_tensors(GType api);

/// Implements prepare_output_buffer of GstBaseTransforms that write in place: the output is the
/// input, or a copy with its tensors if the input is shared.
GstFlowReturn writable_with_tensors(GstBaseTransform*, GstBuffer* input, GstBuffer** output);

// The tensors of a buffer, from either of GStreamer's two metas.

/// Iterates over the tensors of a frame: those of each GstTensorMeta, then those of
/// GstAnalyticsTensorMtd. An mtd that is related to a detection (a mask, an
/// embedding) is skipped, because it belongs to that object, as is an mtd on data that came in a
/// GstTensorMeta.
class TensorWalk {
 public:
  /// @param buffer must outlive this, and must not get metas or mtds meanwhile; nullptr has no
  /// tensors.
  explicit TensorWalk(GstBuffer* buffer);

  /// Returns the next tensor, or nullptr at the end. Both kinds use one struct, owned by the
  /// buffer.
  const GstTensor* next();

  /// Returns an identity that is equal for tensors that a producer attached at once: one
  /// GstTensorMeta, or a single mtd.
  const void* attachment() const { return attachment_; }

 private:
  const GstTensor* next_of_metas();
  const GstTensor* next_of_mtds();

  GstBuffer* buffer_;
  gpointer meta_state_ = nullptr, mtd_state_ = nullptr;
  GstTensorMeta* meta_ = nullptr;
  size_t index_ = 0;  // next index in meta_
  bool metas_done_ = false;
  const void* attachment_ = nullptr;
};

/// True if two mtds of one meta are related in either direction.
bool are_related(const GstAnalyticsMtd& a, const GstAnalyticsMtd& b);

// GstAnalyticsTensorMtd, which exists from GStreamer 1.28 on. Its functions are found by name, so
// that builds with 1.26 can use it.

struct NewTensor;

/// True if GStreamer has the mtd.
bool has_tensor_mtds();

/// True if it is that type of mtd.
bool is_tensor_mtd(GstAnalyticsMtdType type);

/// Iterates over the mtds of that type, as gst_analytics_relation_meta_iterate() does. Returns
/// false at the end, and if GStreamer does not have the mtd.
bool iterate_tensor_mtds(GstAnalyticsRelationMeta* meta, gpointer* state, GstAnalyticsMtd* mtd);

/// Returns the tensor of an mtd, owned by the meta; nullptr for other mtds.
const GstTensor* tensor_of_mtd(const GstAnalyticsMtd& mtd);

/// Adds a tensor of an object: the object contains it, and it is part of the object. Takes the
/// tensor's data. @pre has_tensor_mtds().
void add_tensor_of_object(GstAnalyticsRelationMeta* meta, guint od_id, const NewTensor& tensor);

// Batches of frames along a tensor's first dimension.

/// Returns the shape of a slice of a batch: the first dimension is the number of frames in it.
Shape slice_shape(const Shape& shape, size_t frames = 1);

}  // namespace keepbox
