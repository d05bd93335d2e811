// SPDX-License-Identifier: LGPL-2.1-or-later
// Arrays and indexes that are inconsistent in single fields.
#include "tests/fuzz/recordingdraws.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "gst/recording/files.h"
#include "gst/recording/index.h"
#include "tests/fuzz/files.h"

namespace keepbox::fuzz {
namespace {

Shape any_shape(Input& input) {
  static constexpr size_t kOdd[]{0, 1, size_t{1} << 31, size_t{1} << 32, size_t{1} << 62, SIZE_MAX};
  std::array<size_t, Shape::kMaxRank> dims{};
  const size_t rank = input.below(Shape::kMaxRank + 1);
  for (size_t i = 0; i < rank; ++i)
    dims[i] = input.chance(5) ? input.pick(kOdd) : 1 + input.below(6);
  return Shape(std::span(dims).first(rank));
}

Json odd_value(Input& input) {
  static const Json kOdd[]{nullptr,
                           true,
                           -1,
                           0,
                           1.5,
                           1e300,
                           UINT64_MAX,
                           INT64_MAX,
                           INT64_MIN,
                           "",
                           "x",
                           "../a.npy",
                           "/etc/passwd",
                           "link.npy",
                           "fifo.npy",
                           "sub",
                           std::string("a\0b", 3),
                           Json::array(),
                           Json::object(),
                           Json::array({1, 2, 3, 4, 5, 6, 7, 8, 9}),
                           Json::array({0, UINT64_MAX}),
                           Json::array({1e-40, -0.0})};
  return input.pick(kOdd);
}

void spoil_fields(Input& input, Json& object) {
  for (auto& [key, value] : object.items())
    if (input.chance(4)) value = odd_value(input);
}

Json any_source(Input& input) {
  Json out{
      {"frame", {640, 480}}, {"input", {320, 320}}, {"scale", {2.0, 1.5}}, {"pad", {0.0, 12.5}}};
  if (input.chance(20)) out.erase("pad");
  if (input.chance(50)) out["model"] = "m" + std::to_string(input.below(20));
  if (input.chance(30)) out["detector"] = "yolov8";
  if (input.chance(30)) out["units"] = input.chance(80) ? "pixels" : "metres";
  if (input.chance(50)) out["labels"] = input.chance(80) ? "a.labels" : "b.npy";
  spoil_fields(input, out);
  return out;
}

Json any_entry(Input& input) {
  Json out{{"file", input.chance(50) ? "a.npy" : "b.npy"},
           {"id", "yolo-v8-out"},
           {"type", input.chance(90) ? "float32" : to_string(any_type(input))},
           {"dims-order", input.chance(80) ? "row-major" : "col-major"}};
  if (input.chance(20)) out["dims"] = any_shape(input).dims();
  if (input.chance(50)) out["source"] = any_source(input);
  spoil_fields(input, out);
  return out;
}

}  // namespace

std::string array_file(Input& input) {
  const Shape shape = any_shape(input);
  const DataType type = any_type(input);
  std::string header = npy_header(type, shape);
  if (input.chance(20)) {  // version 2, with four bytes for the length
    header[6] = 2;
    header.insert(10, 2, '\0');
  }
  if (input.chance(30)) header = damaged(input, header, kWords);
  const auto count = shape.count();
  const size_t fits = count && *count < 4096 ? *count * size_of(type) : 0;
  return header + std::string(input.chance(80) ? fits : input.below(600), 'x');
}

std::string any_index(Input& input) {
  std::string out;
  int64_t time =
      input.chance(80) ? 0 : static_cast<int64_t>(input.below(UINT32_MAX)) << input.below(32);
  for (uint32_t i = input.between(1, 6); i > 0; --i) {
    Json line{{"pts", time}, {"duration", 33}, {"width", 320}, {"height", 240}};
    time += input.chance(95) ? 33 : -1;
    line["tensors"] = Json::array();
    for (uint32_t tensors = input.below(4); tensors > 0; --tensors)
      line["tensors"].push_back(any_entry(input));
    if (input.chance(10)) line["skipped"] = true;
    spoil_fields(input, line);
    out += line.dump() + '\n';
  }
  return input.chance(30) ? damaged(input, out, kWords) : out;
}

std::string long_index(Input& input) {
  std::string out;
  const uint32_t size = input.below(60000);
  if (input.chance(30)) return std::string(size, '[');
  if (input.chance(50)) {  // a line with many fields
    out = "{\"tensors\":[]";
    for (uint32_t i = 0; i < size; ++i) out += ",\"" + std::to_string(i) + "\":0";
    return out + "}";
  }
  for (uint32_t i = 0; i < size / 20; ++i) {  // labels shared by many sources
    const Json source{{"labels", "many.labels"}, {"model", std::to_string(i)}};
    const Json entry{{"file", "a.npy"}, {"type", "float32"}, {"source", source}};
    out += Json{{"tensors", Json::array({entry})}}.dump() + '\n';
  }
  return out;
}

}  // namespace keepbox::fuzz
