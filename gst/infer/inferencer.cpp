// SPDX-License-Identifier: LGPL-2.1-or-later
// Values that extra inputs of a model are bound with, on any device.
#include "gst/infer/inferencer.h"

namespace keepbox {
namespace {

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

}  // namespace

Result<std::vector<std::byte>> size_numbers(const ModelPort& port, SizeInput::Kind kind,
                                            Size input) {
  std::vector<std::byte> out;
  const bool scale = kind == SizeInput::Kind::kScale;
  const uint32_t across = scale ? 1 : input.width, down = scale ? 1 : input.height;
  const bool width_first = kind == SizeInput::Kind::kWidthHeight;
  for (const uint32_t number : {width_first ? across : down, width_first ? down : across}) {
    if (port.type == DataType::kFloat32) put(out, static_cast<float>(number));
    else if (port.type == DataType::kInt64) put(out, static_cast<int64_t>(number));
    else if (port.type == DataType::kInt32) put(out, static_cast<int32_t>(number));
    else
      return fail(ErrorKind::kUnsupported, "two numbers of float32, int64 or int32 as input",
                  port.to_string(), "export the model without that input");
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
  if (port.dims.size() == 2 && dims.back() < 2) dims.back() = 2;
  return dims;
}

}  // namespace keepbox
