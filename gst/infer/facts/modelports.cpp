// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes dimensions and values of inputs for any device, and checks outputs.
#include "gst/infer/facts/modelports.h"

#include <array>
#include <cstring>

namespace keepbox {
namespace {

template <class T, class Value>
void fill(std::byte* to, size_t count, Value value) {
  for (size_t i = 0; i < count; ++i) {
    const T each = static_cast<T>(value(i));
    std::memcpy(to + i * sizeof each, &each, sizeof each);
  }
}

/// The first dimension is the batch; other dynamic ones are the two values, or the picture's height
/// and width.
std::vector<int64_t> extra_dims(const ModelPort& port, Size input, unsigned batch) {
  std::vector<int64_t> dims = port.dims;
  const std::array<int64_t, 3> mask{batch, input.height, input.width};
  const std::array<int64_t, 2> pair{batch, 2};
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 1 || i == 0) dims[i] = dims.size() == mask.size() ? mask[i] : pair.at(i);
  return dims;
}

}  // namespace

Result<ExtraInput> make_extra(const ModelPort& port, SizeInput::Kind kind, Size input,
                              unsigned batch) {
  ExtraInput out;
  out.dims = extra_dims(port, input, batch);
  if (kind == SizeInput::Kind::kPixelMask &&
      (out.dims[1] > int64_t{input.height} || out.dims[2] > int64_t{input.width}))
    return fail(ErrorKind::kUnsupported, "a mask of at most the picture's size", port.to_string(),
                "export the model without that input");
  size_t count = 1;
  for (const int64_t dim : out.dims) count *= static_cast<size_t>(dim);
  const size_t bytes = count * size_of(*port.type);
  KB_TRY(out.memory.grow(bytes, "use a smaller model"));
  out.values = out.memory.first(bytes);
  const auto value = [&](size_t i) -> uint32_t {
    const bool first = i % 2 == 0;
    if (kind == SizeInput::Kind::kWidthHeight) return first ? input.width : input.height;
    if (kind == SizeInput::Kind::kHeightWidth) return first ? input.height : input.width;
    return 1;
  };
  if (port.type == DataType::kFloat32) fill<float>(out.values.data(), count, value);
  else if (port.type == DataType::kInt64) fill<int64_t>(out.values.data(), count, value);
  else if (port.type == DataType::kInt32) fill<int32_t>(out.values.data(), count, value);
  else
    return fail(ErrorKind::kUnsupported, "an input of float32, int64 or int32", port.to_string(),
                "export the model without that input");
  return out;
}

std::vector<int64_t> bound_dims(const ModelPort& port, const InputForm& input, unsigned batch) {
  std::vector<int64_t> dims = port.dims;
  const size_t picture = dims.size() >= 3 ? dims.size() - 3 : dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i < picture) {
      dims[i] = batch;
      continue;
    }
    if (dims[i] > 0) continue;
    const size_t place = i - picture;  // index in C H W or H W C
    const size_t height = input.channels_last ? 0 : 1;
    dims[i] = place == height       ? input.size.height
              : place == height + 1 ? input.size.width
                                    : input.channels;
  }
  return dims;
}

bool same_memory(const InputForm& a, const InputForm& b) {
  return a.size.width == b.size.width && a.size.height == b.size.height && a.type == b.type &&
         a.channels == b.channels && a.channels_last == b.channels_last;
}

std::unexpected<Error> no_slices(const ModelDeclaration& declaration, std::string found) {
  return fail(
      ErrorKind::kUnsupported, "outputs whose first dimension is the batch", std::move(found),
      std::string(declaration.batch > 1 ? "export the model for one picture" : "set batch-size=1") +
          ", or export it without NMS or with padded outputs per picture");
}

Status check_slices(const ModelDeclaration& declaration, size_t output, const Shape& shape,
                    unsigned batch) {
  if (shape.rank() > 0 && shape[0] == batch) return {};
  return no_slices(declaration, "output " + declaration.outputs[output].name + " of " +
                                    shape.to_string() + " for a batch of " + std::to_string(batch));
}

}  // namespace keepbox
