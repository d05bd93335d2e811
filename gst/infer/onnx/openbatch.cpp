// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds out by trial whether a model returns the same results in batches.
#include "gst/infer/onnx/openbatch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "core/formula/numeric.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/onnxgraph.pb.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

namespace graph = onnxgraph;

constexpr int kInt64 = 7, kFloat16 = 10;  // TensorProto.DataType

/// Opens the first dimension if it is 1. Returns true if it was.
bool open_first(graph::ValueInfo& value) {
  graph::Shape& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  if (shape.dim_size() < 2 || shape.dim(0).dim_value() != 1) return false;
  shape.mutable_dim(0)->Clear();
  shape.mutable_dim(0)->set_dim_param("keepbox_batch");
  return true;
}

/// Makes a constant shape that begins with 1 copy the first dimension of Reshape's input, which is
/// the meaning of 0.
void open_shape(graph::Tensor& shape) {
  if (shape.data_type() != kInt64) return;
  int64_t first = 0;
  if (std::string& raw = *shape.mutable_raw_data(); raw.size() >= sizeof first) {
    std::memcpy(&first, raw.data(), sizeof first);
    if (first == 1) std::memset(raw.data(), 0, sizeof first);
  } else if (shape.int64_data_size() > 0 && shape.int64_data(0) == 1) {
    shape.set_int64_data(0, 0);
  }
}

/// Returns the graph's constants by name.
std::map<std::string, graph::Tensor*> constants_of(graph::Graph& graph) {
  std::map<std::string, graph::Tensor*> out;
  for (graph::Tensor& each : *graph.mutable_initializer()) out[each.name()] = &each;
  for (graph::Node& node : *graph.mutable_node()) {
    if (node.op_type() != "Constant" || node.output_size() == 0) continue;
    for (graph::Attribute& each : *node.mutable_attribute())
      if (each.name() == "value") out[node.output(0)] = each.mutable_t();
  }
  return out;
}

/// Returns the specification of a session on the CPU.
SessionSpec on_cpu(SessionSpec spec) {
  spec.provider = "cpu";
  spec.provider_options.clear();
  spec.graph = false;
  return spec;
}

/// True if most weights are in float16.
bool is_half(const graph::Graph& graph) {
  double half = 0, others = 0;
  for (const graph::Tensor& each : graph.initializer()) {
    double count = 1;
    for (const int64_t dim : each.dims()) count *= static_cast<double>(dim);
    (each.data_type() == kFloat16 ? half : others) += count;
  }
  return half > others;
}

struct OpenedModel {
  std::string bytes;
  bool half;  // most weights are in float16
};

Result<OpenedModel> open_copy(const std::string& file) {
  graph::Model model;
  std::ifstream stream(file, std::ios::binary);
  if (!model.ParseFromIstream(&stream)) return no_batch(file + ", which cannot be edited");
  graph::Graph& graph = *model.mutable_graph();
  bool opened = false;
  for (graph::ValueInfo& each : *graph.mutable_input()) opened |= open_first(each);
  if (!opened) return no_batch("no input whose first dimension is 1");
  for (graph::ValueInfo& each : *graph.mutable_output()) open_first(each);
  const auto constants = constants_of(graph);
  for (const graph::Node& node : graph.node()) {
    if (node.op_type() != "Reshape" || node.input_size() < 2) continue;
    const auto found = constants.find(node.input(1));
    if (found != constants.end()) open_shape(*found->second);
  }
  graph.clear_value_info();  // inferred again by the runtime
  OpenedModel out{.bytes = {}, .half = is_half(graph)};
  if (!model.SerializeToString(&out.bytes)) return no_batch("a model of more than 2 GiB");
  return out;
}

}  // namespace

Result<std::string> open_batch(const std::string& file) {
  KB_ASSIGN(OpenedModel opened, open_copy(file));
  return std::move(opened.bytes);
}

Status check_tables(SessionSpec spec, const ModelDeclaration& declaration,
                    const ModelFacts& facts) {
  const auto may_mix = [](const ModelPort& port) {
    return port.dims.empty() || (port.dims.size() == 2 && port.dims[0] < 1);
  };
  if (std::ranges::none_of(declaration.outputs, may_mix)) return {};
  KB_ASSIGN(const auto session, OnnxSession::open(on_cpu(std::move(spec))));
  return check_parts(
      *session, facts,
      declaration.batch > 1 ? static_cast<unsigned>(declaration.batch) : kTriedPictures);
}

Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts) {
  spec = on_cpu(std::move(spec));
  KB_ASSIGN(const auto one, OnnxSession::open(spec));
  KB_ASSIGN(OpenedModel opened, open_copy(spec.file));
  KB_ASSIGN(const auto many, OnnxSession::open(spec, nullptr, &opened.bytes));
  KB_TRY(compare_batches(*one, *many, facts, opened.half));
  return std::move(opened.bytes);
}

namespace {

/// Differences relative to an output's largest value. In float16 they are two to four units of its
/// last place, which may hide small values.
constexpr double kRounding = 1e-5, kHalfRounding = 4.0 / (1 << 11);

Result<std::vector<ModelOutput>> run(const OnnxSession& session, const ModelFacts& facts,
                                     std::span<std::byte> pictures, unsigned batch) {
  KB_ASSIGN(const auto options, session.run_options());
  KB_ASSIGN(const auto bound, HostRun::create(session, options.get(), facts, pictures, batch));
  return bound.run();
}

double value_at(const std::byte* data, DataType type, size_t i) {
  if (type == DataType::kFloat64) {
    double value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
  }
  return load({.data = data, .type = type}, i);
}

bool near(std::span<const std::byte> a, std::span<const std::byte> b, DataType type,
          double rounding) {
  const size_t count = a.size() / size_of(type);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < count; ++i) {
    const double one = value_at(a.data(), type, i), other = value_at(b.data(), type, i);
    if (std::isfinite(one) != std::isfinite(other)) return false;
    if (!std::isfinite(one)) continue;
    largest = std::max(largest, std::abs(one));
    difference = std::max(difference, std::abs(one - other));
  }
  return difference <= rounding * largest;
}

/// Returns the sum of the differences of two outputs, relative to their values.
double distance(std::span<const std::byte> a, std::span<const std::byte> b, DataType type) {
  constexpr double kNothing = 1e-3;  // smaller values count as that
  const size_t count = a.size() / size_of(type);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double one = value_at(a.data(), type, i), other = value_at(b.data(), type, i);
    if (std::isfinite(one) && std::isfinite(other))
      sum += std::abs(one - other) / (std::abs(one) + std::abs(other) + kNothing);
  }
  return sum;
}

std::span<const std::byte> bytes_of(const ModelOutput& output) {
  return {output.data, output.bytes};
}

/// True if values of a type are rounded: not those of integers.
bool is_rounded(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64;
}

/// True if a picture's part of a batch is its own result, in float16 much nearer to it than to that
/// of another picture. @param half the model computes in float16.
bool is_slice(const ModelOutput& batch, unsigned picture, const ModelOutput& own,
              const ModelOutput& other, bool half) {
  constexpr double kNearer = 4;
  if (slice_shape(batch.shape) != own.shape || batch.bytes != own.bytes * kTriedPictures)
    return false;
  const auto slice = bytes_of(batch).subspan(picture * own.bytes, own.bytes);
  if (std::ranges::equal(bytes_of(own), slice)) return true;
  if (!is_rounded(own.type)) return false;
  if (own.type != DataType::kFloat16) {
    if (near(bytes_of(own), slice, own.type, kRounding)) return true;
    if (!half) return false;
  }
  if (!near(bytes_of(own), slice, own.type, kHalfRounding)) return false;
  if (other.bytes != own.bytes) return true;
  return kNearer * distance(slice, bytes_of(own), own.type) <=
         distance(slice, bytes_of(other), own.type);
}

/// True if the rows of a table begin with 0, 1, 2 and so on. @pre it has several rows.
bool is_numbered(const ModelOutput& table) {
  if (table.shape.rank() != 2) return false;
  const TensorView view{
      .data = table.data, .bytes = table.bytes, .type = table.type, .shape = table.shape};
  for (size_t row = 0; row < table.shape[0]; ++row)
    if (load(view, row * table.shape[1]) != static_cast<float>(row)) return false;
  return true;
}

}  // namespace

std::unexpected<Error> no_batch(const std::string& found) {
  return reject(ErrorKind::kUnsupported, "The model cannot run batches: " + found,
                "export it with a dynamic batch");
}

Status compare_batches(const OnnxSession& one, const OnnxSession& many, const ModelFacts& facts,
                       bool half) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(kTriedPictures * bytes);
  draw_tried(pictures, facts.input);
  KB_ASSIGN(const auto batch, run(many, facts, pictures, kTriedPictures));
  std::vector<std::vector<ModelOutput>> alone;
  for (unsigned i = 0; i < kTriedPictures; ++i) {
    KB_ASSIGN(auto outputs, run(one, facts, std::span(pictures).subspan(i * bytes, bytes), 1));
    alone.push_back(std::move(outputs));
  }
  bool different = false;  // equal outputs for all pictures would prove nothing
  for (unsigned i = 0; i < kTriedPictures; ++i)
    for (size_t k = 0; k < batch.size(); ++k) {
      const ModelOutput &own = alone[i][k], &other = alone[(i + 1) % kTriedPictures][k];
      KB_TRY(check_slices(one.declaration(), k, batch[k].shape, kTriedPictures));
      if (!is_slice(batch[k], i, own, other, half))
        return no_batch("output " + one.declaration().outputs[k].name +
                        " has other values in a batch");
      different = different || !std::ranges::equal(bytes_of(own), bytes_of(other));
    }
  if (different) return {};
  return no_batch("its outputs are the same for all tried pictures");
}

Status check_parts(const OnnxSession& session, const ModelFacts& facts, unsigned batch) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(batch * bytes);
  draw_tried(std::span(pictures).first(bytes), facts.input);
  for (unsigned i = 1; i < batch; ++i)
    std::copy_n(pictures.begin(), bytes, pictures.begin() + static_cast<ptrdiff_t>(i * bytes));
  KB_ASSIGN(const std::vector<ModelOutput> outputs, run(session, facts, pictures, batch));
  const ModelDeclaration& declaration = session.declaration();
  for (size_t i = 0; i < outputs.size(); ++i) {
    KB_TRY(check_slices(declaration, i, outputs[i].shape, batch));
    if (is_numbered(outputs[i]))
      return no_slices(declaration, "output " + declaration.outputs[i].name +
                                        ", whose rows begin with the number of their picture");
  }
  return {};
}

namespace {

using Rgb = std::array<uint8_t, 3>;

void store(std::span<std::byte> to, size_t at, const InputForm& input, const Rgb& pixel,
           size_t channel) {
  const auto put = [&](auto value) { std::memcpy(&to[at * sizeof value], &value, sizeof value); };
  const float value =
      (static_cast<float>(pixel[channel]) - input.mean[channel]) / input.deviation[channel];
  if (input.type == DataType::kFloat32) put(value);
  else if (input.type == DataType::kFloat16) put(float_to_half(value));
  else put(pixel[channel]);
}

/// @param pixel_at a callable (x, y) that returns a pixel.
void draw(std::span<std::byte> to, const InputForm& input, auto pixel_at) {
  const size_t count = size_t{input.size.width} * input.size.height;
  for (size_t i = 0; i < count; ++i) {
    const Rgb pixel = pixel_at(static_cast<uint32_t>(i % input.size.width),
                               static_cast<uint32_t>(i / input.size.width));
    for (size_t c = 0; c < input.channels; ++c)
      store(to, input.channels_last ? i * input.channels + c : c * count + i, input, pixel,
            input.bgr ? input.channels - 1 - c : c);
  }
}

}  // namespace

Rgb pixel_of_squares(uint32_t x, uint32_t y) {
  constexpr uint32_t kSide = 32, kSmall = 12;
  const auto in = [&](uint32_t left, uint32_t top) {
    return x >= left && x < left + kSmall && y >= top && y < top + kSmall;
  };
  if (in(kSide, kSide)) return {255, 0, 0};
  if (in(2 * kSide, kSide)) return {0, 0, 255};
  const uint8_t grey = (x / kSide + y / kSide) % 2 == 0 ? 64 : 192;
  return {grey, grey, grey};
}

void draw_tried(std::span<std::byte> to, const InputForm& input) {
  const size_t bytes = input.bytes();
  std::mt19937 random(1);
  const auto any = [&] { return static_cast<uint8_t>(random()); };
  for (size_t i = 0; i < to.size() / bytes; ++i) {
    const auto picture = to.subspan(i * bytes, bytes);
    if (i == 0) draw(picture, input, [&](auto, auto) { return Rgb{any(), any(), any()}; });
    else if (i == 1) draw(picture, input, [](auto, auto) { return Rgb{}; });
    else if (i == 2) draw(picture, input, pixel_of_squares);
    else draw(picture, input, [](auto, auto) { return Rgb{255, 255, 255}; });
  }
}

}  // namespace keepbox
