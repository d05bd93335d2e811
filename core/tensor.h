// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as they arrive: a pointer that somebody else owns, its type and its dimensions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/element.h"
#include "core/result.h"

namespace keepbox {

enum class MemorySpace : uint8_t { kSystem, kCuda };

size_t size_of(DataType type);
std::string_view to_string(DataType type);                 // "float32"
Result<DataType> data_type_from(std::string_view name);

/// Up to eight dimensions, slowest first; data is dense in that order.
class Shape {
 public:
  static constexpr size_t kMaxRank = 8;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<size_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  constexpr explicit Shape(std::span<const size_t> dims)
      : rank_(dims.size() < kMaxRank ? dims.size() : kMaxRank) {
    for (size_t i = 0; i < rank_; ++i) dims_[i] = dims[i];
  }

  constexpr size_t rank() const { return rank_; }
  constexpr size_t operator[](size_t i) const { return dims_[i]; }
  constexpr std::span<const size_t> dims() const { return {dims_.data(), rank_}; }

  /// Number of elements; kTruncated when it does not fit in 63 bits.
  Result<size_t> count() const;
  /// "1x84x8400"
  std::string to_string() const;

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<size_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

/// "1,84,8400" or "1x84x8400" to a Shape; kInvalid for anything else.
Result<Shape> shape_from(std::string_view text);

/// Borrowed tensor data. `bytes` is what may be read, whatever the shape says.
struct TensorView {
  std::string_view id;  // the name that the producer gave it; may be empty
  const void* data = nullptr;
  size_t bytes = 0;
  DataType type = DataType::kFloat32;
  Shape shape;
  MemorySpace space = MemorySpace::kSystem;
  float scale = 1;  // real value = (stored - zero_point) * scale, for quantised tensors
  float zero_point = 0;
  // CUDA memory only: a cudaEvent_t after which, or else a cudaStream_t behind whose present work
  // the data is there. Neither: it is there.
  void* ready_event = nullptr;
  void* ready_stream = nullptr;

  /// "output 1x84x8400 float32"
  std::string to_string() const;
};

/// Returns a tensor's form: a view whose data the host cannot read, for plans from shapes alone.
TensorView form_of(const TensorView& tensor);

bool is_floating(DataType type);

/// Does it hold real numbers: of a floating type, or integers that are known to be quantised?
bool is_real(const TensorView& view);

/// "boxes 1x100x4 float32; scores 1x100 float32", or "no tensors"
std::string to_string(std::span<const TensorView> tensors);

/// A shape as a number of images of `rank` dimensions each.
struct Batched {
  size_t images = 1;
  std::array<size_t, Shape::kMaxRank> dims{};
};

/// Drops dimensions of 1 down to `rank`, or takes the one that is left over as the images; nothing
/// when the shape has other ranks.
std::optional<Batched> batched(const Shape& shape, size_t rank);

/// Is there as much data as the shape and type say? Nothing may be read before this holds.
Status check_bounds(const TensorView& view);

/// Element `index` of system memory as a float, quantisation undone.
/// @pre check_bounds() held and index < shape.count().
inline float load(const TensorView& view, size_t index);

/// The same for types other than float32.
float load_converted(const TensorView& view, size_t index);

inline float load(const TensorView& view, size_t index) {
  if (view.type != DataType::kFloat32) return load_converted(view, index);
  float value;  // memcpy, because producers promise no alignment
  std::memcpy(&value, static_cast<const std::byte*>(view.data) + index * sizeof value, sizeof value);
  return (value - view.zero_point) * view.scale;
}

}  // namespace keepbox
