// SPDX-License-Identifier: LGPL-2.1-or-later
// ONNX is protobuf: a message is a sequence of fields, and a field is its number and a varint, four
// bytes, or a length and that many bytes. Field numbers are from onnx.proto.
#include "tests/onnxfile.h"

#include <bit>

namespace keepbox::test::onnx {
namespace {

/// A protobuf message that is being written.
class Message {
 public:
  Message& number(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& texts(int field, const std::vector<std::string>& values) {
    for (const std::string& value : values) text(field, value);
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

Message entry(const std::string& key, const std::string& value) {
  return Message().text(1, key).text(2, value);
}

/// Writes the value of an attribute and, in field 20, its kind.
struct AttributeWriter {
  Message& out;
  void operator()(int64_t value) const { out.number(3, value).number(20, 2); }
  void operator()(float value) const { out.real(2, value).number(20, 1); }
  void operator()(const std::vector<int64_t>& values) const {
    for (const int64_t value : values) out.number(8, value);
    out.number(20, 7);
  }
  void operator()(const std::vector<float>& values) const {
    for (const float value : values) out.real(7, value);
    out.number(20, 6);
  }
};

Message written(const Node& node) {
  Message out;
  // a unique name, because the runtime derives the names of fused nodes from it
  out.texts(1, node.inputs).texts(2, node.outputs).text(3, node.outputs.at(0)).text(4, node.op);
  for (const auto& [name, value] : node.attributes) {
    Message attribute;
    attribute.text(1, name);
    std::visit(AttributeWriter{attribute}, value);
    out.message(5, attribute);
  }
  return out;
}

Message written(const Constant& constant) {
  Message out;
  for (const int64_t dim : constant.dims) out.number(1, dim);
  out.number(2, static_cast<int64_t>(constant.type)).text(8, constant.name);
  if (constant.external_file.empty()) return out.text(9, constant.raw);
  return out.message(13, entry("location", constant.external_file)).number(14, 1);
}

Message written(const Value& value) {
  const Message any = Message().number(1, static_cast<int64_t>(value.type));
  if (value.sequence)
    return Message()
        .text(1, value.name)
        .message(2, Message().message(4, Message().message(1, Message().message(1, any))));
  Message shape;
  for (const Dim& dim : value.dims) {
    shape.message(1,
                  dim.name.empty() ? Message().number(1, dim.size) : Message().text(2, dim.name));
  }
  const Message tensor = Message().number(1, static_cast<int64_t>(value.type)).message(2, shape);
  return Message().text(1, value.name).message(2, Message().message(1, tensor));
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

std::string Model::add(const std::string& op, std::vector<std::string> of, Attributes attributes,
                       const std::string& output) {
  const std::string name = output.empty() ? "v" + std::to_string(nodes.size()) : output;
  nodes.push_back({op, std::move(of), {name}, std::move(attributes)});
  return name;
}

std::string Model::constant(std::vector<int64_t> dims, const std::vector<float>& values) {
  constants.push_back({"c" + std::to_string(constants.size()),
                       Type::kFloat,
                       std::move(dims),
                       bytes_of(values),
                       {}});
  return constants.back().name;
}

std::string Model::constant(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  constants.push_back({"c" + std::to_string(constants.size()),
                       Type::kInt64,
                       std::move(dims),
                       bytes_of(values),
                       {}});
  return constants.back().name;
}

std::string Model::file() const {
  Message graph;
  for (const Node& node : nodes) graph.message(1, written(node));
  graph.text(2, "graph");
  for (const Constant& constant : constants) graph.message(5, written(constant));
  for (const Value& value : inputs) graph.message(11, written(value));
  for (const Value& value : outputs) graph.message(12, written(value));
  Message out;
  out.number(1, ir_version).message(7, graph).message(8, Message().text(1, "").number(2, opset));
  for (const auto& [key, value] : metadata) out.message(14, entry(key, value));
  return out.bytes();
}

}  // namespace keepbox::test::onnx
