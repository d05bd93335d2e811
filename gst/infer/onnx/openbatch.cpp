// SPDX-License-Identifier: LGPL-2.1-or-later
// Edits the graph of a model, and proves by runs that its results are the same.
#include "gst/infer/onnx/openbatch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "gst/infer/inferencer.h"
#include "gst/infer/onnx/onnxgraph.pb.h"

namespace keepbox {
namespace {

namespace graph = onnxgraph;

constexpr int kInt64 = 7;  // TensorProto.DataType
constexpr unsigned kPictures = 3;
/// Difference relative to an output's largest value. Results of another picture differ by far more.
constexpr double kRounding = 1e-5;

std::unexpected<Error> no_batch(const std::string& found) {
  return reject(ErrorKind::kUnsupported, "The model cannot run batches: " + found,
                "export it with a dynamic batch");
}

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

/// Fills a picture's input with random values of 0..1, or of all bytes.
void fill_random(std::span<std::byte> to, DataType type, std::mt19937& random) {
  const auto each = [&](auto value) {
    for (size_t at = 0; at + sizeof value <= to.size(); at += sizeof value) {
      value = static_cast<decltype(value)>(random() % (type == DataType::kFloat16 ? 0x3c00u
                                                       : type == DataType::kUInt8 ? 256u
                                                                                  : 0x1000000u));
      if (type == DataType::kFloat32) {
        const float scaled = static_cast<float>(value) / 0x1000000;
        std::memcpy(&to[at], &scaled, sizeof scaled);
      } else {
        std::memcpy(&to[at], &value, sizeof value);
      }
    }
  };
  if (type == DataType::kFloat32) each(uint32_t{});
  else if (type == DataType::kFloat16) each(uint16_t{});
  else each(uint8_t{});
}

/// The inputs of a run, and their memory.
struct Inputs {
  std::vector<ExtraInput> extras;
  std::vector<OnnxValue> values;  // by index
};

Result<Inputs> inputs_of(const OnnxSession& session, const ModelFacts& facts,
                         std::span<std::byte> pictures, unsigned batch) {
  Inputs out;
  const auto& ports = session.claims().inputs;
  for (size_t i = 0; i < ports.size(); ++i)
    out.values.emplace_back(nullptr, session.runtime().api().ReleaseValue);
  const ModelPort& image = ports[facts.image_input];
  KB_ASSIGN(auto value, session.tensor(pictures.data(), pictures.size(), facts.input.type,
                                       bound_dims(image, facts.input, batch)));
  out.values[facts.image_input] = std::move(value);
  for (const SizeInput& extra : facts.size_inputs) {
    const ModelPort& port = ports[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts.input.size, batch));
    KB_ASSIGN(auto bound, session.tensor(made.values.data(), made.bytes, *port.type, made.dims));
    out.values[extra.index] = std::move(bound);
    out.extras.push_back(std::move(made));
  }
  return out;
}

Result<std::vector<OnnxOutput>> run(const OnnxSession& session, const ModelFacts& facts,
                                    std::span<std::byte> pictures, unsigned batch) {
  KB_ASSIGN(const auto inputs, inputs_of(session, facts, pictures, batch));
  std::vector<const OrtValue*> values;
  for (const OnnxValue& each : inputs.values) values.push_back(each.get());
  return session.run(values, nullptr);
}

template <class T>
bool near(std::span<const std::byte> a, std::span<const std::byte> b) {
  const size_t count = a.size() / sizeof(T);
  const auto at = [](std::span<const std::byte> of, size_t i) {
    T value;
    std::memcpy(&value, &of[i * sizeof value], sizeof value);
    return static_cast<double>(value);
  };
  double largest = 0, difference = 0;
  for (size_t i = 0; i < count; ++i) {
    const double one = at(a, i), other = at(b, i);
    if (std::isfinite(one) != std::isfinite(other)) return false;
    if (!std::isfinite(one)) continue;
    largest = std::max(largest, std::abs(one));
    difference = std::max(difference, std::abs(one - other));
  }
  return difference <= kRounding * largest;
}

bool same(const OnnxOutput& one, std::span<const std::byte> of_many) {
  const std::span<const std::byte> alone(one.data, one.bytes);
  if (std::ranges::equal(alone, of_many)) return true;
  if (one.type == DataType::kFloat32) return near<float>(alone, of_many);
  return one.type == DataType::kFloat64 && near<double>(alone, of_many);
}

/// True if the rows of a table begin with 0, 1, 2 and so on.
bool is_numbered(const OnnxOutput& table) {
  if (table.shape.rank() != 2) return false;
  const TensorView view{
      .data = table.data, .bytes = table.bytes, .type = table.type, .shape = table.shape};
  for (size_t row = 0; row < table.shape[0]; ++row)
    if (load(view, row * table.shape[1]) != static_cast<float>(row)) return false;
  return table.shape[0] > 1;
}

/// Returns the specification of a session on the CPU.
SessionSpec on_cpu(SessionSpec spec) {
  spec.provider = "cpu";
  spec.provider_options.clear();
  spec.graph = false;
  return spec;
}

}  // namespace

Result<std::string> open_batch(const std::string& file) {
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
  std::string out;
  if (!model.SerializeToString(&out)) return no_batch("a model of more than 2 GiB");
  return out;
}

Status compare_batches(const OnnxSession& one, const OnnxSession& many, const ModelFacts& facts) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(kPictures * bytes);
  std::mt19937 random(1);
  fill_random(pictures, facts.input.type, random);
  KB_ASSIGN(const auto batch, run(many, facts, pictures, kPictures));
  bool different = false;  // pictures that all look the same would prove nothing
  for (unsigned i = 0; i < kPictures; ++i) {
    KB_ASSIGN(const auto alone, run(one, facts, std::span(pictures).subspan(i * bytes, bytes), 1));
    for (size_t k = 0; k < alone.size(); ++k) {
      const OnnxOutput &each = alone[k], &all = batch[k];
      KB_TRY(check_slices(one.claims(), k, all.shape, kPictures));
      if (slice_shape(all.shape) != each.shape || all.bytes != each.bytes * kPictures ||
          !same(each, {all.data + i * each.bytes, each.bytes}))
        return no_batch("other values of output " + one.claims().outputs[k].name + " in a batch");
      different = different || (i > 0 && std::memcmp(all.data, each.data, each.bytes) != 0);
    }
  }
  if (different) return {};
  return no_batch("the same outputs for all random pictures");
}

Status check_parts(const OnnxSession& session, const ModelFacts& facts, unsigned batch) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(batch * bytes);
  std::mt19937 random(1);
  fill_random(std::span(pictures).first(bytes), facts.input.type, random);
  for (unsigned i = 1; i < batch; ++i)
    std::copy_n(pictures.begin(), bytes, pictures.begin() + static_cast<ptrdiff_t>(i * bytes));
  KB_ASSIGN(const std::vector<OnnxOutput> outputs, run(session, facts, pictures, batch));
  const ModelClaims& claims = session.claims();
  for (size_t i = 0; i < outputs.size(); ++i) {
    KB_TRY(check_slices(claims, i, outputs[i].shape, batch));
    if (is_numbered(outputs[i]))
      return no_slices(claims, "output " + claims.outputs[i].name +
                                   ", whose rows begin with the number of their picture");
  }
  return {};
}

Status check_tables(SessionSpec spec, const ModelClaims& claims, const ModelFacts& facts) {
  const auto may_mix = [](const ModelPort& port) {
    return port.dims.empty() || (port.dims.size() == 2 && port.dims[0] < 1);
  };
  if (std::ranges::none_of(claims.outputs, may_mix)) return {};
  KB_ASSIGN(const auto session, OnnxSession::open(on_cpu(std::move(spec))));
  return check_parts(*session, facts,
                     claims.batch > 1 ? static_cast<unsigned>(claims.batch) : kPictures);
}

Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts) {
  spec = on_cpu(std::move(spec));
  KB_ASSIGN(const auto one, OnnxSession::open(spec));
  auto model = open_batch(spec.file);
  if (!model) return model;
  KB_ASSIGN(const auto many, OnnxSession::open(spec, nullptr, &*model));
  KB_TRY(compare_batches(*one, *many, facts));
  return model;
}

}  // namespace keepbox
