// SPDX-License-Identifier: LGPL-2.1-or-later
// Edits the graph of a model, and has its results compared.
#include "gst/infer/onnx/openbatch.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "gst/infer/onnx/onnxgraph.pb.h"
#include "gst/infer/onnx/onnxsession.h"
#include "gst/infer/runs/batchchecks.h"
#include "gst/infer/runs/triedpictures.h"

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

}  // namespace keepbox
