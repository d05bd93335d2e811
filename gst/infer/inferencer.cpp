// SPDX-License-Identifier: LGPL-2.1-or-later
// Values that extra inputs of a model are bound with, on any device.
#include "gst/infer/inferencer.h"

#include <array>

namespace keepbox {
namespace {

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

/// The two values of a size, or the ones of a mask.
std::vector<uint32_t> values_of(SizeInput::Kind kind, Size input, size_t count) {
  switch (kind) {
    case SizeInput::Kind::kWidthHeight: return {input.width, input.height};
    case SizeInput::Kind::kHeightWidth: return {input.height, input.width};
    case SizeInput::Kind::kScale:
    case SizeInput::Kind::kPixelMask: break;
  }
  return std::vector<uint32_t>(count, 1);
}

/// Dynamic dimensions are a batch of 1, then the two values, or the picture's height and width.
std::vector<int64_t> extra_dims(const ModelPort& port, Size input) {
  std::vector<int64_t> dims = port.dims;
  const std::array<int64_t, 3> mask{1, input.height, input.width};
  const std::array<int64_t, 2> pair{1, 2};
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 1) dims[i] = dims.size() == mask.size() ? mask[i] : pair.at(i);
  return dims;
}

}  // namespace

Result<ExtraInput> make_extra(const ModelPort& port, SizeInput::Kind kind, Size input) {
  ExtraInput out{.dims = extra_dims(port, input), .bytes = {}};
  size_t count = 1;
  for (const int64_t dim : out.dims) count *= static_cast<size_t>(dim);
  for (const uint32_t value : values_of(kind, input, count)) {
    if (port.type == DataType::kFloat32) put(out.bytes, static_cast<float>(value));
    else if (port.type == DataType::kInt64) put(out.bytes, static_cast<int64_t>(value));
    else if (port.type == DataType::kInt32) put(out.bytes, static_cast<int32_t>(value));
    else
      return fail(ErrorKind::kUnsupported, "an input of float32, int64 or int32", port.to_string(),
                  "export the model without that input");
  }
  return out;
}

std::vector<int64_t> bound_dims(const ModelPort& port, const InputForm& input) {
  std::vector<int64_t> dims = port.dims;
  const size_t picture = dims.size() >= 3 ? dims.size() - 3 : dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i < picture || dims[i] > 0) {
      if (dims[i] < 1) dims[i] = 1;
      continue;
    }
    const size_t place = i - picture;  // index in C H W or H W C
    const size_t height = input.channels_last ? 0 : 1;
    dims[i] = place == height       ? input.size.height
              : place == height + 1 ? input.size.width
                                    : input.channels;
  }
  return dims;
}

}  // namespace keepbox
