// SPDX-License-Identifier: LGPL-2.1-or-later
// The detectors compute boxes from sums over the rows and columns of the picture, so boxes are
// exact to a fraction of a pixel and the graphs accept any size.
#include "tests/onnxmodels.h"

namespace keepbox::test {
namespace {

using onnx::Dim;
using onnx::Model;
using onnx::Type;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int64_t kStrides[] = {8, 16, 32};

/// Names of the values computed from the picture.
struct Looked {
  std::string planes;  // 1x4xHxW: red, blue in 0..1, and each pixel's x and y
  std::string boxes;   // 1x4x2: cx cy w h of red and of blue
};

/// Names of the centre and extent of a colour along one axis, 1x1x1 each.
struct Span {
  std::string centre, extent;
};

Span span(Model& m, const std::string& plane, const std::string& places, int64_t across) {
  const std::string profile = m.add("ReduceMax", {plane}, {{"axes", Ints{across}}});
  const auto sum = [&](const std::string& of) {
    return m.add("ReduceSum", {of, m.constant({2}, Ints{2, 3})}, {{"keepdims", int64_t{0}}});
  };
  const std::string extent = sum(profile);
  const std::string moment = sum(m.add("Mul", {profile, places}));
  const std::string weight = m.add("Max", {extent, m.number(1e-6f)});
  const auto cubed = [&](const std::string& of) {
    return m.add("Unsqueeze", {of, m.constant({1}, Ints{2})});
  };
  return {cubed(m.add("Div", {moment, weight})), cubed(extent)};
}

/// Adds the pixel centres along an axis (2: vertical, 3: horizontal), with size 1 on other axes.
std::string places(Model& m, const std::string& plane, int64_t axis) {
  const std::string line = m.add("ReduceMax", {plane}, {{"axes", Ints{5 - axis}}});
  const std::string ones = m.add("Add", {m.add("Mul", {line, m.number(0)}), m.number(1)});
  const std::string axis_name = m.constant({}, Ints{axis});
  return m.add("Sub", {m.add("CumSum", {ones, axis_name}), m.number(0.5f)});
}

/// Adds the colour planes and boxes. @param red, blue weights of the input channels.
Looked look(Model& m, const std::string& image, const Floats& red, const Floats& blue) {
  const auto plane = [&](const Floats& weights) {
    const std::string sum = m.add("Conv", {image, m.constant({1, 3, 1, 1}, weights)});
    return m.add("Relu", {sum});
  };
  const std::string colours[] = {plane(red), plane(blue)};
  const std::string x = places(m, colours[0], 3), y = places(m, colours[0], 2);
  Looked out;
  std::vector<std::string> boxes;
  for (const std::string& colour : colours) {
    const Span across = span(m, colour, x, 2), down = span(m, colour, y, 3);
    boxes.push_back(m.add("Concat", {across.centre, down.centre, across.extent, down.extent},
                          {{"axis", int64_t{1}}}));
  }
  const std::string zeros = m.add("Mul", {colours[0], m.number(0)});
  out.planes =
      m.add("Concat", {colours[0], colours[1], m.add("Add", {zeros, x}), m.add("Add", {zeros, y})},
            {{"axis", int64_t{1}}});
  out.boxes = m.add("Concat", boxes, {{"axis", int64_t{2}}});
  return out;
}

const Floats kRedOfRgb{1, -1, -1}, kBlueOfRgb{-1, -1, 1};

std::string part(Model& m, const std::string& of, int64_t axis, int64_t begin, int64_t end) {
  return m.add("Slice", {of, m.constant({1}, Ints{begin}), m.constant({1}, Ints{end}),
                         m.constant({1}, Ints{axis})});
}

/// The cells of one stride.
struct Cells {
  std::string scores;        // 1x2xN
  std::string centre;        // 1x2xN
  std::string middle, size;  // of the cell's box, 1x2xN each: that of its colour, or half the cell
};

Cells cells(Model& m, const Looked& seen, int64_t stride) {
  const std::string pooled =
      m.add("AveragePool", {seen.planes},
            {{"kernel_shape", Ints{stride, stride}}, {"strides", Ints{stride, stride}}});
  const std::string flat = m.add("Reshape", {pooled, m.constant({3}, Ints{0, 4, -1})});
  Cells out{part(m, flat, 1, 0, 2), part(m, flat, 1, 2, 4), {}, {}};
  const std::string red = part(m, flat, 1, 0, 1), blue = part(m, flat, 1, 1, 2);
  const std::string box = m.add(
      "Where",
      {m.add("Greater", {red, blue}), part(m, seen.boxes, 2, 0, 1), part(m, seen.boxes, 2, 1, 2)});
  const std::string any = m.add("Greater", {m.add("Add", {red, blue}), m.number(0.01f)});
  out.middle = m.add("Where", {any, part(m, box, 1, 0, 2), out.centre});
  out.size = m.add("Where", {any, part(m, box, 1, 2, 4), m.number(static_cast<float>(stride) / 2)});
  return out;
}

int64_t anchors(ModelSize size) {
  int64_t out = 0;
  for (const int64_t stride : kStrides) out += (size.height / stride) * (size.width / stride);
  return out;
}

/// Scores of red and blue, 1x2, and their corners, 1x2x4, in pixels of the input.
struct Found {
  std::string scores, corners;
};

Found found(Model& m, const Looked& seen) {
  const std::string best = m.add("ReduceMax",
                                 {m.add("AveragePool", {part(m, seen.planes, 1, 0, 2)},
                                        {{"kernel_shape", Ints{8, 8}}, {"strides", Ints{8, 8}}})},
                                 {{"axes", Ints{2, 3}}, {"keepdims", int64_t{0}}});
  const std::string middle = part(m, seen.boxes, 1, 0, 2);
  const std::string half = m.add("Mul", {part(m, seen.boxes, 1, 2, 4), m.number(0.5f)});
  const std::string corners =
      m.add("Concat", {m.add("Sub", {middle, half}), m.add("Add", {middle, half})},
            {{"axis", int64_t{1}}});
  return {best, m.add("Transpose", {corners}, {{"perm", Ints{0, 2, 1}}})};
}

}  // namespace

Model identity_model(std::vector<Dim> dims, Type type) {
  Model m;
  m.inputs = {{"images", type, dims}};
  m.outputs = {{"output", type, std::move(dims)}};
  m.add("Identity", {"images"}, {}, "output");
  return m;
}

Model ultralytics_like(ModelSize size, bool dynamic) {
  Model m;
  const std::string sides =
      "[" + std::to_string(size.height) + ", " + std::to_string(size.width) + "]";
  m.metadata = {{"description", "Ultralytics YOLOv8n model trained on shapes"},
                {"author", "Ultralytics"},
                {"task", "detect"},
                {"stride", "32"},
                {"batch", "1"},
                {"imgsz", sides},
                {"names", "{0: 'disc', 1: 'bar'}"}};
  m.inputs = {{"images", Type::kFloat, {1, 3, size.height, size.width}}};
  m.outputs = {{"output0", Type::kFloat, {1, 6, anchors(size)}}};
  if (dynamic) {
    m.inputs[0].dims = {"batch", 3, "height", "width"};
    m.outputs[0].dims = {"batch", 6, "anchors"};
  }
  const Looked seen = look(m, "images", kRedOfRgb, kBlueOfRgb);
  std::vector<std::string> levels;
  for (const int64_t stride : kStrides) {
    const Cells level = cells(m, seen, stride);
    levels.push_back(
        m.add("Concat", {level.middle, level.size, level.scores}, {{"axis", int64_t{1}}}));
  }
  m.add("Concat", levels, {{"axis", int64_t{2}}}, "output0");
  return m;
}

Model yolox_like(ModelSize size) {
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, size.height, size.width}}};
  m.outputs = {{"output", Type::kFloat, {1, anchors(size), 7}}};
  constexpr float k = 1 / 255.0f;
  const Looked seen = look(m, "images", {-k, -k, k}, {k, -k, -k});
  std::vector<std::string> levels;
  for (const int64_t stride : kStrides) {
    const Cells level = cells(m, seen, stride);
    const std::string by = m.number(static_cast<float>(stride));
    // (middle - cell) / stride, where cell is its upper left corner
    const std::string away = m.add("Div", {m.add("Sub", {level.middle, level.centre}), by});
    const std::string place = m.add("Add", {away, m.number(0.5f)});
    const std::string size_log =
        m.add("Log", {m.add("Max", {m.add("Div", {level.size, by}), m.number(1e-3f)})});
    const std::string scores = m.add("Relu", {level.scores});  // probabilities, not logits
    const std::string any = m.add("ReduceMax", {scores}, {{"axes", Ints{1}}});
    levels.push_back(m.add("Concat", {place, size_log, any, scores}, {{"axis", int64_t{1}}}));
  }
  m.add("Transpose", {m.add("Concat", levels, {{"axis", int64_t{2}}})}, {{"perm", Ints{0, 2, 1}}},
        "output");
  return m;
}

Model dfine_like(ModelSize size) {
  constexpr int64_t kQueries = 300;
  Model m;
  m.inputs = {{"images", Type::kFloat, {1, 3, size.height, size.width}},
              {"orig_target_sizes", Type::kInt64, {1, 2}}};
  m.outputs = {{"labels", Type::kInt64, {1, kQueries}},
               {"boxes", Type::kFloat, {1, kQueries, 4}},
               {"scores", Type::kFloat, {1, kQueries}}};
  const Found two = found(m, look(m, "images", kRedOfRgb, kBlueOfRgb));
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  const std::string normal = m.add("Div", {two.corners, m.constant({4}, Floats{w, h, w, h})});
  const std::string sides = m.add("Cast", {"orig_target_sizes"}, {{"to", int64_t{1}}});
  const std::string both = m.add("Concat", {sides, sides}, {{"axis", int64_t{1}}});
  const std::string scaled =
      m.add("Mul", {normal, m.add("Unsqueeze", {both, m.constant({1}, Ints{1})})});
  m.add("Pad", {scaled, m.constant({6}, Ints{0, 0, 0, 0, kQueries - 2, 0})}, {}, "boxes");
  m.add("Pad", {two.scores, m.constant({4}, Ints{0, 0, 0, kQueries - 2})}, {}, "scores");
  Ints classes(kQueries, 0);
  classes[1] = 1;
  m.add("Identity", {m.constant({1, kQueries}, classes)}, {}, "labels");
  return m;
}

Model paddle_like(ModelSize size) {
  Model m;
  m.inputs = {{"image", Type::kFloat, {1, 3, size.height, size.width}},
              {"scale_factor", Type::kFloat, {1, 2}}};
  m.outputs = {{"rows", Type::kFloat, {"found", 6}}, {"count", Type::kInt32, {1}}};
  const Found two = found(m, look(m, "image", kRedOfRgb, kBlueOfRgb));
  const std::string y = part(m, "scale_factor", 1, 0, 1), x = part(m, "scale_factor", 1, 1, 2);
  const std::string factors = m.add("Concat", {x, y, x, y}, {{"axis", int64_t{1}}});
  const std::string first = m.constant({1}, Ints{0});
  const std::string corners = m.add("Div", {m.add("Squeeze", {two.corners, first}), factors});
  const std::string scores = m.add("Transpose", {two.scores}, {{"perm", Ints{1, 0}}});
  const std::string all =
      m.add("Concat", {m.constant({2, 1}, Floats{0, 1}), scores, corners}, {{"axis", int64_t{1}}});
  const std::string above =
      m.add("Greater", {m.add("Squeeze", {two.scores, first}), m.number(0.2f)});
  const std::string which = m.add("Squeeze", {m.add("NonZero", {above}), first});
  m.add("Gather", {all, which}, {}, "rows");
  m.add("Cast", {m.add("Shape", {which})}, {{"to", int64_t{6}}}, "count");
  return m;
}

}  // namespace keepbox::test
