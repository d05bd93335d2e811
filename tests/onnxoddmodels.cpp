// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that are not detectors: errors, odd outputs, slow and huge ones, random weights.
#include <cmath>
#include <random>

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

Model mixing_model() {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, 48, 64}}};
  m.outputs = {{"output", Type::kFloat, {1, 3}}};
  const std::string means =
      m.add("ReduceMean", {"images"}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{0}}});
  const std::string bright = m.add("Relu", {m.add("Sub", {means, m.number(0.8f)})});
  const std::string most = m.add("ReduceMax", {bright}, {{"keepdims", int64_t{0}}});
  m.add("Add", {means, most}, {}, "output");
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

Model slow_to_load_model(int operators) {
  Model m = identity_model({1, 3, 32, 32});
  m.nodes.clear();
  const Ints dims{1, 3, 576, 608};
  std::string last = m.constant(dims, std::vector<float>(size_t{3} * 576 * 608, 0.5f));
  for (int i = 0; i < operators; ++i) last = m.add("Sin", {last});
  const std::string mean = m.add("ReduceMean", {last}, {{"axes", Ints{1, 2, 3}}});
  m.add("Add", {"images", mean}, {}, "output");
  return m;
}

namespace {

/// The boxes and scores of pictures: Bx8x4 and Bx1x8.
struct Ready {
  std::string boxes, scores;
};

Ready add_ready(Model& m, const Dim& batch) {
  const auto first = [&](Ints dims, int64_t axis, const std::string& name) {
    const auto count = static_cast<int64_t>(dims.size());
    const std::string all = m.add("Reshape", {"images", m.constant({count}, dims)});
    return m.add(
        "Slice",
        {all, m.constant({1}, Ints{0}), m.constant({1}, Ints{8}), m.constant({1}, Ints{axis})}, {},
        name);
  };
  m.inputs = {{"images", Type::kFloat, {batch, 3, 48, 64}}};
  return {first({0, -1, 4}, 1, "boxes"), first({0, 1, -1}, 2, "scores")};
}

}  // namespace

Model selecting_model(const Dim& batch, int64_t most) {
  Model m;
  const Ready ready = add_ready(m, batch);
  m.outputs = {{"boxes", Type::kFloat, {batch, 8, 4}},
               {"scores", Type::kFloat, {batch, 1, 8}},
               {"selected", Type::kInt64, {"n", 3}}};
  m.add("NonMaxSuppression",
        {ready.boxes, ready.scores, m.constant({1}, Ints{most}),
         m.constant({1}, std::vector<float>{1}), m.constant({1}, std::vector<float>{0.3f})},
        {}, "selected");
  return m;
}

Model counting_model(const Dim& batch) {
  Model m;
  const Ready ready = add_ready(m, batch);
  m.outputs = {{"num_dets", Type::kInt32, {batch, 1}},
               {"det_boxes", Type::kFloat, {batch, 8, 4}},
               {"det_scores", Type::kFloat, {batch, 8}},
               {"det_classes", Type::kInt32, {batch, 8}}};
  m.add("Identity", {ready.boxes}, {}, "det_boxes");
  const std::string one = m.constant({1}, Ints{1});
  const std::string scores = m.add("Squeeze", {ready.scores, one}, {}, "det_scores");
  const std::string passes = m.add("Greater", {scores, m.number(0.3f)});
  const std::string counted =
      m.add("ReduceSum", {m.add("Cast", {passes}, {{"to", int64_t{1}}}), one});
  m.add("Cast", {counted}, {{"to", int64_t{6}}}, "num_dets");
  m.add("Cast", {passes}, {{"to", int64_t{6}}}, "det_classes");
  return m;
}

Model random_detector() {
  Model m = ultralytics_like({64, 64});
  m.nodes.clear();
  m.constants.clear();
  m.outputs = {{"output0", Type::kFloat, {1, 6, 64}}};
  std::mt19937 random(1);
  std::string last = "images";
  int64_t channels = 3;
  for (const int64_t out : {16, 16, 6}) {
    std::vector<float> weights(static_cast<size_t>(out * channels * 9));
    const float scale = 6 / std::sqrt(static_cast<float>(channels * 9));
    for (float& each : weights)
      each = scale * (static_cast<float>(random() % 65536) / 65536 - 0.5f);
    last = m.add("Conv", {last, m.constant({out, channels, 3, 3}, weights)},
                 {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    if (out != 6) last = m.add("LeakyRelu", {last});
    channels = out;
  }
  const std::string rows = m.add("Reshape", {last, m.constant({3}, Ints{1, 6, 64})});
  const std::string units = m.constant({1, 6, 1}, std::vector<float>{64, 64, 24, 24, 1, 1});
  m.add("Mul", {m.add("Sigmoid", {rows}), units}, {}, "output0");
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
