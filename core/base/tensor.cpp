// SPDX-License-Identifier: LGPL-2.1-or-later
// Data types, shapes and checked access.
#include "core/base/tensor.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "core/base/text.h"

namespace keepbox {
namespace {

struct TypeRow {
  DataType type;
  std::string_view name;
  size_t size;
};

constexpr TypeRow kTypes[] = {
    {DataType::kInt8, "int8", 1},       {DataType::kInt16, "int16", 2},
    {DataType::kInt32, "int32", 4},     {DataType::kInt64, "int64", 8},
    {DataType::kUInt8, "uint8", 1},     {DataType::kUInt16, "uint16", 2},
    {DataType::kUInt32, "uint32", 4},   {DataType::kUInt64, "uint64", 8},
    {DataType::kFloat16, "float16", 2}, {DataType::kBFloat16, "bfloat16", 2},
    {DataType::kFloat32, "float32", 4}, {DataType::kFloat64, "float64", 8},
};

const TypeRow& row_of(DataType type) { return *std::ranges::find(kTypes, type, &TypeRow::type); }

}  // namespace

size_t size_of(DataType type) { return row_of(type).size; }

std::string_view to_string(DataType type) { return row_of(type).name; }

Result<DataType> data_type_from(std::string_view name) {
  const auto* row = std::ranges::find(kTypes, name, &TypeRow::name);
  if (row != std::end(kTypes)) return row->type;
  std::string names;
  for (const TypeRow& each : kTypes) append(names, each.name);
  return fail(ErrorKind::kInvalid, "a tensor type (" + names + ")", '"' + std::string(name) + '"');
}

Result<size_t> Shape::count() const {
  size_t total = 1;
  for (size_t dim : dims()) {
    if (dim != 0 && total > static_cast<size_t>(std::numeric_limits<int64_t>::max()) / 8 / dim)
      return reject(ErrorKind::kTruncated,
                    "A tensor of " + to_string() + " does not fit in memory");
    total *= dim;
  }
  return total;
}

std::string Shape::to_string() const { return dims_text(dims()); }

Result<Shape> shape_from(std::string_view text) {
  std::array<size_t, Shape::kMaxRank> dims{};
  size_t rank = 0;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end && rank < dims.size()) {
    const auto [next, error] = std::from_chars(at, end, dims[rank]);
    if (error != std::errc{}) break;
    ++rank;
    at = next;
    if (at < end && (*at == ',' || *at == 'x' || *at == ':') && at + 1 < end) ++at;
    else break;
  }
  if (rank == 0 || at != end)
    return fail(ErrorKind::kInvalid, "1 to 8 dimensions such as 1,84,8400",
                '"' + std::string(text) + '"');
  return Shape(std::span(dims.data(), rank));
}

std::string TensorView::to_string() const {
  std::string text(id);
  if (!text.empty()) text += ' ';
  return text + shape.to_string() + ' ' + std::string(keepbox::to_string(type));
}

bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16 ||
         type == DataType::kFloat64;
}

bool is_real(const TensorView& view) {
  return is_floating(view.type) || view.scale != 1 || view.zero_point != 0;
}

std::string to_string(std::span<const TensorView> tensors) {
  if (tensors.empty()) return "no tensors";
  std::string text;
  for (const TensorView& tensor : tensors) text += (text.empty() ? "" : "; ") + tensor.to_string();
  return text;
}

std::optional<Batched> batched(const Shape& shape, size_t rank) {
  std::vector<size_t> dims(shape.dims().begin(), shape.dims().end());
  while (dims.size() > rank && dims.front() == 1) dims.erase(dims.begin());
  for (size_t i = dims.size(); dims.size() > rank && i-- > 1;)
    if (dims[i] == 1) dims.erase(dims.begin() + static_cast<ptrdiff_t>(i));
  Batched out;
  if (dims.size() == rank + 1) {
    out.images = dims.front();
    dims.erase(dims.begin());
  }
  if (dims.size() != rank || out.images == 0) return std::nullopt;
  std::ranges::copy(dims, out.dims.begin());
  return out;
}

Status check_bounds(const TensorView& view) {
  KB_ASSIGN(auto count, view.shape.count());
  const size_t needed = count * size_of(view.type);
  if (view.bytes >= needed && (view.data != nullptr || needed == 0)) return {};
  return fail(ErrorKind::kTruncated,
              std::to_string(needed) + " bytes for tensor " + view.to_string(),
              std::to_string(view.bytes) + " bytes",
              "fix the producer, whose dimensions do not fit its buffer");
}

TensorView form_of(const TensorView& tensor) {
  static constexpr std::byte kUnread{};
  TensorView out = tensor;
  out.space = MemorySpace::kCuda;  // the host reads nothing there
  out.data = &kUnread;
  out.bytes = out.shape.count().value_or(0) * size_of(out.type);
  return out;
}

float load_converted(const TensorView& view, size_t index) {
  const auto* bytes = static_cast<const std::byte*>(view.data) + index * size_of(view.type);
  return (load_element(view.type, bytes) - view.zero_point) * view.scale;
}

}  // namespace keepbox
