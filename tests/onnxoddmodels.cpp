// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that are not detectors: errors, odd outputs, slow and huge ones.
#include "tests/onnxmodels.h"

namespace keepbox::test {

using onnx::Dim;
using onnx::Model;
using onnx::Type;
using Ints = std::vector<int64_t>;

Model text_model() {
  Model m;
  m.inputs = {{"input_ids", Type::kInt64, {1, 16}}};
  m.outputs = {{"output", Type::kInt64, {1, 16}}};
  m.add("Identity", {"input_ids"}, {}, "output");
  return m;
}

Model too_new_model() {
  Model m = identity_model({1, 3, 32, 32});
  m.opset = 99;
  return m;
}

Model external_data_model() {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, 32, 32}}};
  m.outputs = {{"output", Type::kFloat, {1, 3, 32, 32}}};
  m.constants = {{"weights", Type::kFloat, {1, 3, 32, 32}, {}, "weights.bin"}};
  m.add("Add", {"images", "weights"}, {}, "output");
  return m;
}

Model slow_model(int operators) {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, 576, 608}}};
  m.outputs = {{"output", Type::kFloat, {1, 1, 1, 1}}};
  std::string last = "images";
  for (int i = 0; i < operators; ++i) last = m.add("Sin", {last});
  m.add("ReduceMean", {last}, {{"axes", Ints{1, 2, 3}}}, "output");
  return m;
}

Model huge_model() {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, 32, 32}}};
  m.outputs = {{"output", Type::kFloat, {"a", "b", "c", "d"}}};
  // depends on the picture, so that the runtime cannot compute it while it loads the file
  const std::string most = m.add("ReduceMax", {"images"}, {{"keepdims", int64_t{0}}});
  const std::string zero = m.add("Cast", {m.add("Mul", {most, m.number(0)})}, {{"to", int64_t{7}}});
  const std::string wanted = m.add("Add", {zero, m.constant({4}, Ints{1, 8, 1 << 21, 1 << 21})});
  m.add("ConstantOfShape", {wanted}, {}, "output");
  return m;
}

Model int64_output_model(ModelSize size) {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, size.height, size.width}}};
  m.outputs = {{"output", Type::kInt64, {1, 3 * size.height * size.width}}};
  m.add("Cast", {m.add("Flatten", {"images"})}, {{"to", int64_t{7}}}, "output");
  return m;
}

void add_odd_outputs(Model& m) {
  const std::string mean = m.add("ReduceMean", {m.inputs[0].name}, {{"keepdims", int64_t{0}}});
  m.add("Cast", {mean}, {{"to", int64_t{8}}}, "words");
  m.add("SequenceConstruct", {mean, mean}, {}, "list");
  m.add("Reshape", {mean, m.constant({9}, Ints(9, 1))}, {}, "nine");
  // Inserted first, so that the indices of the other outputs change.
  m.outputs.insert(m.outputs.begin(), {{"words", Type::kString, {}},
                                       {"list", Type::kFloat, {}, true},
                                       {"nine", Type::kFloat, std::vector<Dim>(9, 1)}});
}

Model two_outputs_model(ModelSize size) {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, size.height, size.width}}};
  m.outputs = {{"same", Type::kFloat, {1, 3, size.height, size.width}},
               {"mean", Type::kFloat, {1, 3, 1, 1}}};
  m.add("Identity", {"images"}, {}, "same");
  m.add("ReduceMean", {"images"}, {{"axes", Ints{2, 3}}}, "mean");
  return m;
}

}  // namespace keepbox::test
