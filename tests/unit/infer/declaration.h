// SPDX-License-Identifier: LGPL-2.1-or-later
// Models with arbitrary declarations, for tests of the conclusions.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gst/infer/facts/modelfacts.h"

/// Expects a message to contain a part.
#define EXPECT_SAID(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace keepbox::test {

using Dims = std::vector<int64_t>;
using Three = std::array<float, 3>;

inline ModelPort port(const char* name, Dims dims,
                      std::optional<DataType> type = DataType::kFloat32) {
  return {.name = name, .type = type, .dims = std::move(dims)};
}

/// Returns a model with one picture input and some outputs.
inline ModelDeclaration model(Dims input, std::vector<ModelPort> outputs,
                              std::map<std::string, std::string> metadata = {}) {
  return {.file = "/models/some.v1.onnx",
          .inputs = {port("images", std::move(input))},
          .outputs = std::move(outputs),
          .metadata = std::move(metadata)};
}

inline std::map<std::string, std::string> ultralytics(
    const char* task, const char* names, std::map<std::string, std::string> more = {}) {
  more.insert({{"author", "Ultralytics"}, {"task", task}, {"stride", "32"}, {"names", names}});
  return more;
}

inline ModelFacts facts_of(const ModelDeclaration& declaration,
                           const InputSettings& settings = {}) {
  auto facts = settle_model(declaration, settings);
  EXPECT_TRUE(facts) << facts.error().message();
  return facts ? *facts : ModelFacts{.outputs = {{}, {}, {}, {}}};
}

/// Returns the error's message, or "".
inline std::string error_of(const ModelDeclaration& declaration,
                            const InputSettings& settings = {}) {
  const auto facts = settle_model(declaration, settings);
  return facts ? "" : facts.error().message();
}

inline const ModelDeclaration kYolov8 = model({1, 3, 640, 640}, {port("output0", {1, 6, 8400})},
                                              ultralytics("detect", "{0: 'cat', 1: 'dog'}"));
inline const ModelDeclaration kUnknown = model({1, 3, 64, 64}, {port("out", {1, 7})});

/// Returns a model with a .modelinfo of these tensors.
inline ModelDeclaration described(std::vector<ModelInfoTensor> tensors,
                                  ModelDeclaration declaration = kUnknown) {
  declaration.info = ModelInfo{.path = "some.modelinfo", .tensors = std::move(tensors)};
  return declaration;
}

}  // namespace keepbox::test
