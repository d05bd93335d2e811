// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the picture among a model's inputs, and computes what inputs are bound with.
#include "gst/infer/facts/modelports.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/base/text.h"

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

namespace {

constexpr int64_t kMaxSide = 16384;

/// Returns the dimensions of an input, with dynamic ones taken from the .modelinfo.
std::vector<int64_t> known_dims(const ModelDeclaration& declaration, const ModelPort& port) {
  std::vector<int64_t> dims = port.dims;
  const ModelInfoTensor* declared =
      declaration.info ? declaration.info->find(port.name, true) : nullptr;
  if (declared != nullptr && declared->dims.size() == dims.size())
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] < 0) dims[i] = declared->dims[i];
  return dims;
}

bool is_channels(int64_t dim) { return dim == 1 || dim == 3; }

/// Returns the index of the channel dimension; std::nullopt if the input is not a picture.
std::optional<size_t> channels_at(const std::vector<int64_t>& dims) {
  const size_t batch = dims.size() == 4 ? 1 : 0;
  if (dims.size() != batch + 3) return std::nullopt;
  if (is_channels(dims[batch])) return batch;
  if (is_channels(dims[batch + 2])) return batch + 2;
  return std::nullopt;
}

/// Returns what to do if no input is a picture.
std::string no_picture_hint(const ModelDeclaration& declaration) {
  const bool open = std::ranges::any_of(declaration.inputs, [&](const ModelPort& port) {
    const std::vector<int64_t> dims = known_dims(declaration, port);
    return dims.size() >= 3 && std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; });
  });
  return open ? "define the dynamic dimensions, such as the number of channels, by dims= in a "
                ".modelinfo, or export the model with fixed ones"
              : "use a model with such an input";
}

std::optional<SizeInput::Kind> size_kind(const std::string& name) {
  if (name == "orig_target_sizes") return SizeInput::Kind::kWidthHeight;
  if (name == "im_shape") return SizeInput::Kind::kHeightWidth;
  if (name == "scale_factor") return SizeInput::Kind::kScale;
  if (name == "pixel_mask") return SizeInput::Kind::kPixelMask;
  return std::nullopt;
}

/// True if a port takes the values of a kind for one picture: two of them, or a mask.
bool takes(const ModelPort& port, SizeInput::Kind kind) {
  const auto may_be = [](int64_t dim, int64_t wanted) { return dim == wanted || dim < 0; };
  const bool type = port.type == DataType::kInt64 || port.type == DataType::kInt32 ||
                    port.type == DataType::kFloat32;
  if (!type || port.dims.empty() || !may_be(port.dims[0], 1)) return false;
  if (kind != SizeInput::Kind::kPixelMask) return port.dims.size() == 2 && may_be(port.dims[1], 2);
  const auto is_side = [](int64_t dim) { return dim != 0 && dim <= kMaxSide; };
  return port.dims.size() == 3 && is_side(port.dims[1]) && is_side(port.dims[2]);
}

Result<ImageInput> image_of(const ModelDeclaration& declaration, size_t index, size_t channels) {
  const ModelPort& port = declaration.inputs[index];
  const std::vector<int64_t> dims = known_dims(declaration, port);
  if (dims.size() == 4 && dims[0] != 1 && dims[0] >= 0)
    return fail(ErrorKind::kUnsupported, "an input for one picture", port.to_string(),
                "export the model with batch size 1 or a dynamic batch");
  if (port.type != DataType::kFloat32 && port.type != DataType::kFloat16 &&
      port.type != DataType::kUInt8)
    return fail(ErrorKind::kUnsupported, "a picture input of float32, float16 or uint8",
                port.to_string(), "export the model with such an input");
  ImageInput image{.index = index, .type = *port.type};
  const size_t first = dims.size() - 3;
  image.channels_last = channels != first;
  image.channels = static_cast<uint8_t>(dims[channels]);
  const size_t height = image.channels_last ? first : first + 1;
  for (size_t i = height; i < height + 2; ++i)
    if (port.dims[i] == 0 || port.dims[i] > kMaxSide)
      return fail(ErrorKind::kUnsupported, "sides of 1 to " + std::to_string(kMaxSide) + " pixels",
                  port.to_string());
  const auto side = [&](size_t at) {
    return static_cast<uint32_t>(std::max<int64_t>(port.dims[at], 0));
  };
  image.size = {side(height + 1), side(height)};
  return image;
}

/// Settles one side. @param side "width" or "height". @param fixed size in the model, 0 if dynamic.
Result<uint32_t> settle_side(const char* side, uint32_t fixed, uint32_t set,
                             std::array<uint32_t, 2> declared) {
  const std::string name = std::string("input-size= with a ") + side;
  if (fixed != 0 && set != 0 && set != fixed)
    return fail(ErrorKind::kInvalid,
                name + " of " + std::to_string(fixed) + " as in the model, or empty",
                std::to_string(set));
  if (set > kMaxSide)
    return fail(ErrorKind::kInvalid, name + " of at most " + std::to_string(kMaxSide),
                std::to_string(set));
  for (const uint32_t each : {fixed, set, declared[0], declared[1]})
    if (each != 0 && each <= kMaxSide) return each;
  return reject(ErrorKind::kInvalid, "The size of the model input is dynamic",
                "set input-size=, such as 640x640");
}

}  // namespace

std::string ports_text(const std::vector<ModelPort>& ports) {
  std::vector<std::string> texts;
  for (const ModelPort& port : ports) texts.push_back(port.to_string());
  return texts.empty() ? "none" : joined(texts);
}

Result<ModelInputs> find_inputs(const ModelDeclaration& declaration) {
  ModelInputs found;
  std::optional<size_t> image, channels;
  const std::string all = ports_text(declaration.inputs);
  for (size_t i = 0; i < declaration.inputs.size(); ++i) {
    const ModelPort& port = declaration.inputs[i];
    if (const auto kind = size_kind(port.name); kind && takes(port, *kind)) {
      found.sizes.push_back({.index = i, .kind = *kind});
      continue;
    }
    const auto at = channels_at(known_dims(declaration, port));
    if (at && image)
      return fail(ErrorKind::kUnsupported, "a model with one picture input", "inputs " + all);
    if (!at) continue;
    image = i;
    channels = at;
  }
  if (!image)
    return fail(ErrorKind::kUnsupported, "a picture input of 1x3xHxW or 1xHxWx3, or with 1 channel",
                "inputs " + all, no_picture_hint(declaration));
  for (size_t i = 0; i < declaration.inputs.size(); ++i)
    if (i != image && std::ranges::find(found.sizes, i, &SizeInput::index) == found.sizes.end())
      return fail(
          ErrorKind::kUnsupported,
          "only orig_target_sizes, im_shape and scale_factor of 1x2, and pixel_mask of 1xHxW "
          "as other inputs",
          "input " + declaration.inputs[i].to_string() + " among " + all,
          "export the model without that input");
  KB_ASSIGN(found.image, image_of(declaration, *image, *channels));
  return found;
}

Result<uint32_t> rectangle_stride(const ModelDeclaration& declaration, const ImageInput& image,
                                  const ModelMetadata& metadata) {
  constexpr uint32_t kUsual = 32;
  if (image.size == Size{}) return metadata.stride == 0 ? kUsual : metadata.stride;
  return fail(ErrorKind::kUnsupported, "a model of dynamic width and height for resize-mode=rect",
              declaration.inputs[image.index].to_string(),
              "export the model with dynamic axes, or set resize-mode=letterbox-center");
}

Result<Size> settle_size(const ModelDeclaration& declaration, const ImageInput& image,
                         const ModelMetadata& metadata, Size set,
                         std::vector<std::string>& remarks) {
  const std::vector<int64_t> dims = known_dims(declaration, declaration.inputs[image.index]);
  const size_t height_at = dims.size() - (image.channels_last ? 3 : 2);
  const auto info = [&](size_t at) {
    return dims[at] > kMaxSide ? 0 : static_cast<uint32_t>(std::max<int64_t>(dims[at], 0));
  };
  KB_ASSIGN(const auto width, settle_side("width", image.size.width, set.width,
                                          {info(height_at + 1), metadata.size.width}));
  KB_ASSIGN(const auto height, settle_side("height", image.size.height, set.height,
                                           {info(height_at), metadata.size.height}));
  const Size size{width, height};
  if (size == image.size) return size;
  const bool by_set = set.width != 0 || set.height != 0;
  const bool by_info = info(height_at) != 0 && info(height_at + 1) != 0;
  remarks.push_back("dynamic size set to " + std::to_string(size.width) + "x" +
                    std::to_string(size.height) +
                    (by_set    ? " by settings"
                     : by_info ? " by .modelinfo"
                               : " by metadata imgsz"));
  const uint32_t stride = std::max(metadata.stride, 1u);
  if (size.width % stride != 0 || size.height % stride != 0)
    remarks.push_back("which is not a multiple of the model's stride " + std::to_string(stride));
  return size;
}

}  // namespace keepbox
