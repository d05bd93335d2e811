// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of tensors for every family, and the boxes that its published formula makes of them, in
// float64 and without a line of core's arithmetic or of its table.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/scene.h"

namespace keepbox::test {

using Chance = std::mt19937;
using Corners = std::array<double, 4>;  // x1 y1 x2 y2
struct Point {
  double x, y, score = 1;
};

/// @return a number of low .. high.
double between(Chance& chance, double low, double high);

/// What numbers of an anchor are for.
enum Field : size_t { kBox, kScore, kObject, kSide, kMore, kFields };

/// Where an anchor stands.
struct Place {
  size_t level = 0, anchor = 0;  // of its cell
  size_t x = 0, y = 0;           // of its level
  size_t columns = 1, rows = 1;
  double stride = 0, width = 0, height = 0;  // input pixels
};

using Scores = std::vector<double>;
/// The numbers of one anchor.
using Numbers = std::array<std::vector<double>, kFields>;

/// Numbers of every anchor that come in a tensor each, or in one of all columns.
struct Column {
  Field field = kBox;
  size_t channels = 4;
  const char* id = "";  // a * stands for the stride
  bool optional = false;
  bool behind = false;   // in the tensor of the column before it
};

enum class Order { kRows, kPlanes, kMaps, kPixels, kStacked, kFlat, kDeep };

/// How tensors lie in memory.
struct Form {
  Order order = Order::kRows;
  bool levels = false;  // a tensor each
  Size input{256, 192};
  DataType type = DataType::kFloat32;
  std::optional<bool> multi_label{};
  bool optional = true;  // the tensors that a model may leave out are there
};

/// A model as its authors describe it.
struct Model {
  const char* family;
  std::vector<size_t> strides{};  // none: queries
  std::vector<size_t> anchors{1};  // of a cell of each level; of queries their number
  bool cell_major = false;         // as published, the anchors of a cell follow each other
  std::vector<Column> columns{};
  bool together = false;           // in one tensor
  bool coarse_first = false;       // the tensor of the largest stride comes first
  bool level_first = false;        // all of a level, then all of the next
  std::function<std::vector<double>(Chance&, const Place&)> draw_box{};
  std::function<std::vector<double>(Chance&, bool hot)> draw_scores{};
  std::function<double(Chance&, bool hot)> draw_object{};
  std::function<double(Chance&)> draw_side{};
  std::function<Corners(const Numbers&, const Place&)> box{};
  std::function<double(const Numbers&)> angle{};  // of turned boxes
  size_t point_numbers = 0;  // of kMore; 0: there are no points
  /// Where a point is: input pixels. @param first of its numbers.
  std::function<Point(const Numbers&, const Place&, const Corners&, size_t first)> point{};
  /// By class id; below 0 what is none.
  std::function<std::vector<double>(const Numbers&)> scores{};
  bool multi_label = false;  // if nothing is set
  bool peaks = false;        // a better cell beside it takes a cell's box away
  bool with_priors = false;  // the user has to give the priors
  std::function<std::array<double, 4>(const Place&)> prior{};  // cx cy w h of the input
  std::vector<Form> forms{};
};

/// A box by the formula.
struct Truth {
  uint32_t anchor = 0, class_id = 0;
  double score = 0;
  Corners box{};  // input pixels, not clipped; of a turned one as it would be upright
  std::optional<double> angle{};  // radians, of turned boxes
  std::vector<Point> points{};    // input pixels
};

/// A frame and what is in it.
struct Frame {
  std::string family, form;
  Settings settings;
  std::vector<Tensor> tensors;
  std::vector<Truth> truths;
};

std::string to_string(const Form& form);

/// The anchors of a model over an input, in the order of their numbers.
std::vector<Place> places(const Model& model, const Form& form);

/// The tensors of a form; the numbers become those that its type can hold.
std::vector<Tensor> write(const Model& model, const Form& form, const std::vector<Place>& places,
                          std::vector<Numbers>& numbers);

/// Numbers in a type, and what they are then. Integers get scale and zero point by their range.
Tensor stored(std::vector<double>& values, const Shape& shape, DataType type);

Frame make_frame(const Model& model, const Form& form, unsigned seed);

/// Models with anchors and formulas, by kind; and frames of rows that a model sorted out.
std::vector<Model> yolo_models();
std::vector<Model> query_models();
std::vector<Model> anchor_models();
std::vector<Model> face_models();
std::vector<Frame> ready_frames();

/// All models.
std::vector<Model> models();

/// Calls for every frame of every family.
void each_frame(const std::function<void(const Frame&)>& visit);

// Draws and scores that many share.
std::vector<double> draw_logits(Chance& chance, size_t classes, bool hot);
std::vector<double> draw_probabilities(Chance& chance, size_t classes, bool hot);
double sigmoid64(double x);
Scores as_they_are(const Numbers& numbers);
Scores activated(const Numbers& numbers);
/// A point as a model's numbers are: x y, and a score where there are three.
Point as_it_is(const Numbers& numbers, size_t first, size_t each);
Corners centered(double cx, double cy, double w, double h);

}  // namespace keepbox::test
