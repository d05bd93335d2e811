// SPDX-License-Identifier: LGPL-2.1-or-later
// Shapes, types and names of a frame's tensors.
#include "tests/fuzz/frames/frame.h"

#include <algorithm>

#include "core/recognition/fit.h"
#include "core/recognition/maps.h"

namespace keepbox::fuzz {
namespace {

constexpr size_t kMaxBytes = size_t{4} << 20;  // per tensor

constexpr Size kModels[] = {{64, 64}, {64, 64}, {96, 64}, {32, 32},
                            {64, 96}, {50, 70}, {16, 8},  {128, 128}};
constexpr Size kLarge{640, 640};  // large enough for several threads

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat32,  DataType::kFloat32,
                               DataType::kFloat32, DataType::kFloat16,  DataType::kInt8,
                               DataType::kUInt8,   DataType::kBFloat16, DataType::kFloat64,
                               DataType::kInt16,   DataType::kUInt16,   DataType::kInt32,
                               DataType::kInt64,   DataType::kUInt32,   DataType::kUInt64};

/// The common layout of a frame's tensors.
struct Form {
  enum Order { kRows, kPlanes, kMaps, kPixels, kStacked };

  Order order = kRows;
  size_t images = 1, count = 1;  // anchors in all
  uint32_t classes = 1;
  size_t payload = 0;  // numbers
  DataType type = DataType::kFloat32;
};

/// Replaces a * by the level's stride.
std::string with_stride(std::string_view id, uint32_t stride) {
  std::string out(id);
  if (const size_t star = out.find('*'); star != std::string::npos)
    out.replace(star, 1, std::to_string(stride));
  return out;
}

std::string draw_id(Input& input, const TensorRule& rule, uint32_t stride, bool named) {
  if (!named) return {};
  const auto& id = input.chance(80) ? rule.ids[0] : rule.ids[input.below(4)];
  return with_stride(id.empty() ? rule.plain[0] : id, stride);
}

/// Sets scale and zero point like a converter, or none at all.
void draw_scale(Input& input, Tensor& tensor, const Plane& plane, Size model) {
  const bool counts = plane.role == Role::kIndices || plane.role == Role::kCount;
  if (counts || is_floating(tensor.type)) return;
  const float scales[] = {1 / 250.0f, static_cast<float>(model.width) / 250, 0.08f, 0.02f};
  const bool scores = plane.role == Role::kScores && plane.spec->activation == Activation::kNone;
  tensor.scale = scores ? scales[0] : input.pick(scales);
  const bool is_signed = tensor.type <= DataType::kInt64;
  if (!is_signed && input.chance(50)) tensor.zero_point = 128;
  if (is_signed && input.chance(30)) tensor.zero_point = -128;
  if (input.chance(4)) tensor.scale = input.number();
  if (input.chance(4)) tensor.zero_point = input.number();
}

class Drawing {
 public:
  Drawing(Input& input, const DetectorSpec& spec) : input_(input), spec_(spec) {}

  Frame done() {
    const bool large = input_.chance(2);
    frame_.model = large ? kLarge : input_.pick(kModels);
    draw_form(large);
    const bool levels = spec_.level_count() > 0 && input_.chance(50) &&
                        (spec_.reader == Reader::kSplit || spec_.reader == Reader::kDense);
    const bool named = input_.chance(80);
    if (levels) draw_levels(named);
    else
      for (const TensorRule& rule : spec_.rules())
        if (!rule.optional || input_.chance(50)) add(rule, shape_of(rule), named);
    if (spec_.payload == Payload::kMaskCoefficients && input_.chance(90)) add_prototypes();
    frame_.classes = form_.classes;
    frame_.anchors = form_.count;
    draw_priors();
    return std::move(frame_);
  }

 private:
  void draw_form(bool large) {
    const size_t grid = grid_anchors(frame_.model, spec_);
    form_.count = grid != 0 && input_.chance(90) ? grid : input_.between(1, 300);
    form_.images = !large && input_.chance(12) ? input_.between(2, 3) : 1;
    form_.classes = large ? 40 : input_.chance(30) ? 1 : input_.between(2, 12);
    if (input_.chance(3)) form_.classes = 300;
    form_.payload = spec_.payload == Payload::kAngle ? 1 : spec_.payload_count;
    if (spec_.payload == Payload::kKeypoints && spec_.points.values == 0 && input_.chance(40))
      form_.payload = input_.between(1, 6) * input_.between(2, 3);
    if (spec_.payload == Payload::kMaskCoefficients && input_.chance(60))
      form_.payload = input_.between(1, 6);
    form_.type = input_.chance(60) ? DataType::kFloat32 : input_.pick(kTypes);
    form_.order = input_.chance(50) ? Form::kRows : Form::kPlanes;
  }

  size_t channels_for(const TensorRule& rule) {
    const size_t exact = rule.role == Role::kAll ? 0 : channels_of(spec_, rule);
    if (exact != 0) return exact;
    switch (rule.role) {
      case Role::kAll: return all_channels();
      case Role::kScores: return form_.classes + spec_.background_count();
      case Role::kKeypoints: return std::max<size_t>(form_.payload, 1);
      case Role::kBoxes:
      case Role::kObjectness:
      case Role::kSizes:
      case Role::kClasses:
      case Role::kCount:
      case Role::kIndices:
      case Role::kUnread: break;
    }
    return 1;
  }

  size_t all_channels() {
    if (spec_.reader == Reader::kReady)
      return min_channels(spec_) - spec_.payload_count + form_.payload -
             (spec_.payload == Payload::kAngle ? form_.payload - spec_.payload_count : 0);
    const bool behind = spec_.payload != Payload::kNone && spec_.columns.payload < 0;
    return min_channels(spec_) - (behind ? 1 : 0) + form_.classes - 1 + spec_.background_count() +
           (behind ? form_.payload : 0);
  }

  /// Returns the shape of a tensor of all anchors.
  std::pair<Shape, Plane> shape_of(const TensorRule& rule) {
    const size_t n = form_.images, count = form_.count, channels = channels_for(rule);
    Plane plane{&spec_, rule.role, channels, 1, form_.classes};
    if (rule.role == Role::kCount) return {input_.chance(50) ? Shape{n} : Shape{n, 1}, plane};
    if (rule.role == Role::kIndices) {
      plane.channels = 3;
      return {Shape{input_.below(60), 3}, plane};
    }
    const bool outputs = spec_.reader == Reader::kOutputs && rule.role != Role::kBoxes;
    if (outputs || rule.role == Role::kClasses) {
      plane.channels = 1;
      return {Shape{n, count}, plane};
    }
    const bool ready = spec_.reader == Reader::kReady || spec_.reader == Reader::kOutputs;
    const bool flipped = spec_.reader == Reader::kIndices && rule.role == Role::kScores;
    if (flipped || (!ready && form_.order == Form::kPlanes)) {
      plane.inner = count;
      return {Shape{n, channels, count}, plane};
    }
    // rows of several images are consecutive
    if (spec_.columns.image >= 0) return {Shape{n * count, channels}, plane};
    return {Shape{n, count, channels}, plane};
  }

  /// Returns the shape of the tensor of one level.
  std::pair<Shape, Plane> level_shape(const TensorRule& rule, size_t level, Form::Order order) {
    const Size cells = level_cells(frame_.model, spec_.strides[level]);
    const size_t n = form_.images, a = spec_.anchors_of(level), w = cells.width, h = cells.height;
    size_t channels = channels_for(rule);
    if (input_.chance(2)) channels += input_.below(4);
    Plane plane{&spec_, rule.role, channels, 1, form_.classes, spec_.strides[level]};
    if (order == Form::kMaps) plane.inner = w * h;
    switch (order) {
      case Form::kMaps: return {Shape{n, a * channels, h, w}, plane};
      case Form::kPixels: return {Shape{n, h, w, a * channels}, plane};
      case Form::kStacked: return {Shape{n, a, h, w, channels}, plane};
      case Form::kRows:
      case Form::kPlanes: break;
    }
    return {Shape{n, h * w * a, channels}, plane};
  }

  void draw_levels(bool named) {
    constexpr Form::Order kOrders[] = {Form::kMaps, Form::kPixels, Form::kStacked, Form::kRows};
    const Form::Order order = input_.pick(kOrders);
    const auto rules = spec_.rules();
    std::vector<bool> there(rules.size());
    for (size_t i = 0; i < rules.size(); ++i) there[i] = !rules[i].optional || input_.chance(50);
    const bool by_level = input_.chance(50);
    const size_t levels = spec_.level_count();
    for (size_t i = 0; i < levels * rules.size(); ++i) {
      const size_t level = by_level ? i / rules.size() : i % levels;
      const size_t rule = by_level ? i % rules.size() : i / levels;
      if (there[rule]) add(rules[rule], level_shape(rules[rule], level, order), named);
    }
  }

  void add(const TensorRule& rule, const std::pair<Shape, Plane>& of, bool named) {
    Tensor tensor{.id = draw_id(input_, rule, of.second.stride, named),
                  .type = form_.type,
                  .shape = of.first};
    if (rule.role == Role::kIndices)
      tensor.type = input_.chance(70) ? DataType::kInt64 : DataType::kInt32;
    else if (input_.chance(10)) tensor.type = input_.pick(kTypes);
    draw_scale(input_, tensor, of.second, frame_.model);
    frame_.tensors.push_back(std::move(tensor));
    frame_.planes.push_back(of.second);
  }

  void add_prototypes() {
    const size_t w = frame_.model.width / 4, h = frame_.model.height / 4, m = form_.payload;
    const bool maps = input_.chance(60);
    Plane plane{&spec_, Role::kUnread, std::max<size_t>(m, 1)};
    if (maps) plane.inner = std::max<size_t>(w * h, 1);
    plane.prototypes = true;
    const size_t n = form_.images;
    const Shape shape = maps ? Shape{n, m, h, w} : Shape{n, h, w, m};
    frame_.tensors.push_back({.type = form_.type, .shape = shape});
    frame_.planes.push_back(plane);
    draw_scale(input_, frame_.tensors.back(), plane, frame_.model);
  }

  void draw_priors() {
    if (!spec_.priors || (spec_.anchors.given() && input_.chance(50))) return;
    const size_t count = form_.count + (input_.chance(3) ? input_.below(3) : 0);
    const auto part = [&](size_t i, size_t by) {
      return static_cast<float>(i * by % 97 + 1) / 100.0f;
    };
    for (size_t i = 0; i < count; ++i)
      frame_.priors.push_back({part(i, 7), part(i, 31), part(i, 13) / 2, part(i, 17) / 2});
    if (count != 0 && input_.chance(10))
      frame_.priors[input_.below(static_cast<uint32_t>(count))].width = input_.number();
  }

  Input& input_;
  const DetectorSpec& spec_;
  Frame frame_;
  Form form_;
};

}  // namespace

TensorView Tensor::view() const {
  return {.id = id,
          .data = memory.get() + shift,
          .bytes = bytes,
          .type = type,
          .shape = shape,
          .scale = scale,
          .zero_point = zero_point};
}

std::vector<TensorView> views_of(const Frame& frame) {
  std::vector<TensorView> out;
  for (const Tensor& tensor : frame.tensors) out.push_back(tensor.view());
  return out;
}

void allocate(Input& input, Tensor& tensor) {
  const auto count = tensor.shape.count();
  const bool too_many = !count || *count > kMaxBytes / size_of(tensor.type);
  tensor.bytes = too_many ? input.below(4096) : *count * size_of(tensor.type);
  tensor.shift = input.chance(10) ? input.below(17) : 0;
  back_with_memory(tensor);
}

void back_with_memory(Tensor& tensor) {
  tensor.memory = std::make_unique<std::byte[]>(tensor.shift + tensor.bytes);
}

Frame draw_frame(Input& input, const DetectorSpec& spec) {
  Frame frame = Drawing(input, spec).done();
  for (Tensor& tensor : frame.tensors) allocate(input, tensor);
  return frame;
}

Frame draw_absurd(Input& input, const DetectorSpec& spec) {
  Frame frame{.model = input.pick(kModels), .classes = input.between(1, 8), .spoiled = true};
  for (uint32_t left = input.below(7); left > 0; --left) {
    std::vector<size_t> dims(input.below(Shape::kMaxRank + 2));
    for (size_t& dim : dims) dim = draw_dim(input);
    const TensorRule& rule = spec.rules()[input.below(spec.tensor_count)];
    Tensor tensor{.id = draw_id(input, rule, input.below(64), input.chance(60)),
                  .type = input.pick(kTypes),
                  .shape = Shape(dims)};
    frame.planes.push_back({&spec, rule.role, input.between(1, 90), 1, frame.classes});
    draw_scale(input, tensor, frame.planes.back(), frame.model);
    allocate(input, tensor);
    frame.tensors.push_back(std::move(tensor));
  }
  return frame;
}

}  // namespace keepbox::fuzz
