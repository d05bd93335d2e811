// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of tensors for every family, and the boxes by its published formula, in float64 and
// independent of core's arithmetic and table.
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

/// @return a value in low .. high.
double between(Chance& chance, double low, double high);

/// Kinds of values of an anchor.
enum Field : size_t { kBox, kScore, kObject, kSide, kMore, kFields };

/// Location of an anchor.
struct Place {
  size_t level = 0, anchor = 0;  // of the cell
  size_t x = 0, y = 0;           // of the level
  size_t columns = 1, rows = 1;
  double stride = 0, width = 0, height = 0;  // input pixels
};

using Scores = std::vector<double>;
/// Values of one anchor.
using Numbers = std::array<std::vector<double>, kFields>;

/// Values of every anchor that are in one tensor, or in one column range of a tensor.
struct Column {
  Field field = kBox;
  size_t channels = 4;
  const char* id = "";  // * stands for the stride
  bool optional = false;
  bool behind = false;  // in the same tensor as the previous column
};

enum class Order { kRows, kPlanes, kMaps, kPixels, kStacked, kFlat, kDeep };

/// Layout of tensors in memory.
struct Form {
  Order order = Order::kRows;
  bool levels = false;  // one tensor per level
  Size input{256, 192};
  DataType type = DataType::kFloat32;
  std::optional<bool> multi_label{};
  bool optional = true;  // optional tensors are present
};

/// A model as described by its authors.
struct Model {
  const char* family;
  std::vector<size_t> strides{};   // empty: queries
  std::vector<size_t> anchors{1};  // per cell of each level; for queries their number
  bool cell_major = false;         // the anchors of a cell are consecutive in the published layout
  std::vector<Column> columns{};
  bool together = false;      // in one tensor
  bool coarse_first = false;  // the tensor of the largest stride is first
  bool level_first = false;   // all of a level, then all of the next
  std::function<std::vector<double>(Chance&, const Place&)> draw_box{};
  std::function<std::vector<double>(Chance&, bool hot)> draw_scores{};
  std::function<double(Chance&, bool hot)> draw_object{};
  std::function<double(Chance&)> draw_side{};
  std::function<Corners(const Numbers&, const Place&)> box{};
  std::function<double(const Numbers&)> angle{};  // of oriented boxes
  size_t point_numbers = 0;                       // part of kMore; 0: no keypoints
  /// Returns a keypoint in input pixels. @param first index of its first value.
  std::function<Point(const Numbers&, const Place&, const Corners&, size_t first)> point{};
  /// Returns scores by class id; negative if absent.
  std::function<std::vector<double>(const Numbers&)> scores{};
  bool multi_label = false;  // by default
  bool peaks = false;        // a better adjacent cell removes a cell's box
  bool with_priors = false;  // priors come from the user
  std::function<std::array<double, 4>(const Place&)> prior{};  // cx cy w h in input pixels
  std::vector<Form> forms{};
};

/// Expected box by the formula.
struct Truth {
  uint32_t anchor = 0, class_id = 0;
  double score = 0;
  Corners box{};                  // input pixels, not clipped; of an oriented box unrotated
  std::optional<double> angle{};  // radians, of oriented boxes
  std::vector<Point> points{};    // input pixels
};

/// A frame and its expected boxes.
struct Frame {
  std::string family, form;
  Settings settings;
  std::vector<Tensor> tensors;
  std::vector<Truth> truths;
};

std::string to_string(const Form& form);

/// Returns the anchors of a model over an input, in order.
std::vector<Place> places(const Model& model, const Form& form);

/// Writes the tensors of a form; the values are rounded to its type.
std::vector<Tensor> write(const Model& model, const Form& form, const std::vector<Place>& places,
                          std::vector<Numbers>& numbers);

/// Stores values in a type and rounds them accordingly. Integers get scale and zero point by range.
Tensor stored(std::vector<double>& values, const Shape& shape, DataType type);

Frame make_frame(const Model& model, const Form& form, unsigned seed);

/// Models with anchors and formulas, by kind; ready_frames() has those of end-to-end rows.
std::vector<Model> yolo_models();
std::vector<Model> query_models();
std::vector<Model> anchor_models();
std::vector<Model> face_models();
std::vector<Frame> ready_frames();

/// Returns all models.
std::vector<Model> models();

/// Calls visit for every frame of every family.
void each_frame(const std::function<void(const Frame&)>& visit);

// Common random values and scores.
std::vector<double> draw_logits(Chance& chance, size_t classes, bool hot);
std::vector<double> draw_probabilities(Chance& chance, size_t classes, bool hot);
double sigmoid64(double x);
Scores as_they_are(const Numbers& numbers);
Scores activated(const Numbers& numbers);
/// Returns a keypoint as stored by the model: x y, and a score if there are three values.
Point as_it_is(const Numbers& numbers, size_t first, size_t each);
Corners centered(double cx, double cy, double w, double h);

}  // namespace keepbox::test
