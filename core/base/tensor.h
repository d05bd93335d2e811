// SPDX-License-Identifier: LGPL-2.1-or-later
// Borrowed tensors: a pointer, a type and dimensions.
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

#include "core/base/result.h"
#include "core/formula/numeric.h"

namespace keepbox {

enum class MemorySpace : uint8_t { kSystem, kCuda };

size_t size_of(DataType type);
std::string_view to_string(DataType type);  // "float32"
Result<DataType> data_type_from(std::string_view name);

/// Up to eight dimensions, slowest first; data is dense in that order.
class Shape {
 public:
  static constexpr size_t kMaxRank = 8;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<size_t> dims)
      : Shape(std::span(dims.begin(), dims.size())) {}
  constexpr explicit Shape(std::span<const size_t> dims)
      : rank_(dims.size() < kMaxRank ? dims.size() : kMaxRank) {
    for (size_t i = 0; i < rank_; ++i) dims_[i] = dims[i];
  }

  constexpr size_t rank() const { return rank_; }
  constexpr size_t operator[](size_t i) const { return dims_[i]; }
  constexpr std::span<const size_t> dims() const { return {dims_.data(), rank_}; }

  /// Returns the number of elements; kTruncated if it does not fit in 63 bits.
  Result<size_t> count() const;
  /// Returns "1x84x8400".
  std::string to_string() const;

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<size_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

/// Parses "1,84,8400" or "1x84x8400"; kInvalid for anything else.
Result<Shape> shape_from(std::string_view text);

/// Borrowed tensor data. Only `bytes` may be read, whatever the shape.
struct TensorView {
  std::string_view id;  // set by the producer; may be empty
  const void* data = nullptr;
  size_t bytes = 0;
  DataType type = DataType::kFloat32;
  Shape shape;
  MemorySpace space = MemorySpace::kSystem;
  float scale = 1;  // real value = (stored - zero_point) * scale, for quantised tensors
  float zero_point = 0;
  // Device memory only, of the kind of device that has the memory: an event that marks the data as
  // ready, or a stream whose enqueued work produces it. Null if it is ready.
  void* ready_event = nullptr;
  void* ready_stream = nullptr;

  /// Returns "output 1x84x8400 float32".
  std::string to_string() const;
};

/// Returns a tensor's form: a view whose data the host cannot read, for plans from shapes alone.
TensorView form_of(const TensorView& tensor);

bool is_floating(DataType type);

/// True for real values: floating-point types, and integers with a quantisation.
bool is_real(const TensorView& view);

/// Returns "boxes 1x100x4 float32; scores 1x100 float32", or "no tensors".
std::string to_string(std::span<const TensorView> tensors);

/// A shape as a number of images with `rank` dimensions each.
struct Batched {
  size_t images = 1;
  std::array<size_t, Shape::kMaxRank> dims{};
};

/// Drops dimensions of 1 down to `rank`, or takes the one additional dimension as the images;
/// nothing for other shapes.
std::optional<Batched> batched(const Shape& shape, size_t rank);

/// Checks that there is as much data as shape and type imply, which is required before any read.
Status check_bounds(const TensorView& view);

/// Returns element `index` of system memory as a float, dequantised.
/// @pre check_bounds() held and index < shape.count().
inline float load(const TensorView& view, size_t index);

/// Implements load() for types other than float32.
float load_converted(const TensorView& view, size_t index);

inline float load(const TensorView& view, size_t index) {
  if (view.type != DataType::kFloat32) return load_converted(view, index);
  float value;  // memcpy, because producers do not guarantee alignment
  std::memcpy(&value, static_cast<const std::byte*>(view.data) + index * sizeof value,
              sizeof value);
  return (value - view.zero_point) * view.scale;
}

}  // namespace keepbox
