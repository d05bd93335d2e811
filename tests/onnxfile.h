// SPDX-License-Identifier: LGPL-2.1-or-later
// Writer of ONNX files: the part of the format that small models need.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace keepbox::test::onnx {

/// Element types with their numbers in the format.
enum class Type {
  kFloat = 1,
  kUInt8 = 2,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11
};

/// A dimension: a size, or a name if it is dynamic.
struct Dim {
  Dim(int64_t fixed) : size(fixed) {}
  Dim(const char* dynamic) : name(dynamic) {}
  int64_t size = 0;
  std::string name;
};

/// An input or output of the graph.
struct Value {
  std::string name;
  Type type = Type::kFloat;
  std::vector<Dim> dims;
  bool sequence = false;  // a sequence of tensors of that type, with any dimensions
};

using Attributes =
    std::map<std::string, std::variant<int64_t, float, std::vector<int64_t>, std::vector<float>>>;

struct Node {
  std::string op;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
};

/// An initializer as little-endian bytes.
struct Constant {
  std::string name;
  Type type = Type::kFloat;
  std::vector<int64_t> dims;
  std::string raw;
  std::string external_file;  // if not empty, the file that is named as the data's location
};

/// A model with one graph.
struct Model {
  int64_t ir_version = 8, opset = 13;
  std::map<std::string, std::string> metadata;
  std::vector<Value> inputs, outputs;
  std::vector<Node> nodes;
  std::vector<Constant> constants;

  /// Adds a node with one output and returns that output's name.
  /// @param output the output's name; empty generates one.
  std::string add(const std::string& op, std::vector<std::string> of, Attributes attributes = {},
                  const std::string& output = {});
  /// Adds a constant and returns its name. @param values their number must match `dims`.
  std::string constant(std::vector<int64_t> dims, const std::vector<float>& values);
  std::string constant(std::vector<int64_t> dims, const std::vector<int64_t>& values);
  std::string number(float value) { return constant({}, std::vector<float>{value}); }

  /// Returns the content of the file.
  std::string file() const;
};

}  // namespace keepbox::test::onnx
