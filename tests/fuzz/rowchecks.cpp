// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks that rows of MOTChallenge, KITTI, CSV and DOTA have the format that readers expect, and
// match the boxes.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/fuzz/damage.h"
#include "tests/fuzz/rowreader.h"
#include "tests/fuzz/writers.h"

namespace keepbox::fuzz {
namespace {

/// The corners of a box and its upright hull, computed with complex numbers.
struct Oriented {
  std::array<double, 4> x{}, y{};

  explicit Oriented(const FrameBox& box) {
    const Box& b = box.box;
    const double cx = (double{b.x1} + b.x2) / 2, cy = (double{b.y1} + b.y2) / 2;
    const std::array<std::array<float, 2>, 4> corners{
        {{b.x1, b.y1}, {b.x2, b.y1}, {b.x2, b.y2}, {b.x1, b.y2}}};
    for (size_t i = 0; i < 4; ++i) {
      const double dx = corners[i][0] - cx, dy = corners[i][1] - cy, length = std::hypot(dx, dy);
      const double angle = std::atan2(dy, dx) + double{box.angle};
      x[i] = box.angle == 0 ? corners[i][0] : cx + length * std::cos(angle);
      y[i] = box.angle == 0 ? corners[i][1] : cy + length * std::sin(angle);
    }
  }
};

/// True if it is approximately that number. Any number is accepted if the box is not finite.
bool near(const std::string& cell, double value, double scale) {
  if (!std::isfinite(value) || std::abs(value) > 1e30 || scale > 1e30)
    return reads_as(cell, NAN) || !cell.empty();
  char* end = nullptr;
  const double read = std::strtod(cell.c_str(), &end);
  return *end == '\0' && !cell.empty() && std::abs(read - value) <= 1e-5 * (1 + scale);
}

double scale_of(const FrameBox& box) {
  double most = 0;
  for (const float value : {box.box.x1, box.box.y1, box.box.x2, box.box.y2})
    most = std::max(most, std::abs(double{value}));
  return std::isfinite(most) ? most * (1 + std::abs(double{box.angle}) * 1e-9) : most;
}

/// Checks x1, y1 and x2, y2 or width, height.
void check_hull(const FrameBox& box, std::span<const std::string> cells, bool sizes) {
  const Oriented oriented(box);
  const auto [left, right] = std::ranges::minmax(oriented.x);
  const auto [top, bottom] = std::ranges::minmax(oriented.y);
  const double scale = scale_of(box);
  if (box.angle == 0) {
    const Box& b = box.box;
    const std::array exact{b.x1, b.y1, sizes ? b.x2 - b.x1 : b.x2, sizes ? b.y2 - b.y1 : b.y2};
    for (size_t i = 0; i < 4; ++i)
      if (!reads_as(cells[i], exact[i])) violated("an edge that is not the box's: " + cells[i]);
    return;
  }
  const std::array hull{left, top, sizes ? right - left : right, sizes ? bottom - top : bottom};
  for (size_t i = 0; i < 4; ++i)
    if (!near(cells[i], hull[i], scale)) violated("a hull that is not the box's: " + cells[i]);
}

/// True if the word matches the label: letters and digits are unchanged, others are replaced.
bool is_word_of(const std::string& word, GQuark name) {
  const std::string label = written_name(name);
  const bool plain =
      !label.empty() && std::ranges::all_of(label, [](char c) { return g_ascii_isalnum(c); });
  return !plain || word == label;
}

void check_word(const std::string& word) {
  if (word.empty() || split_as_python(word) != Cells{word})
    violated("a class that is not one word: " + word);
  if (!is_utf8(word)) violated("a class that is not UTF-8");
}

/// Returns rows of that many columns, for readers that split at single separators and for Python.
std::vector<Cells> rows_of(const std::string& text, size_t rows, size_t columns, char separator) {
  const auto read = read_rows(text, separator);
  if (!read || read->size() != rows) violated("not a row a box: " + text);
  for (const Cells& row : *read) {
    if (row.size() != columns) violated("a row with other columns: " + text);
    if (separator != ' ') continue;
    std::string line;
    for (const std::string& cell : row) line += cell + " ";
    if (split_as_python(line) != row) violated("a row that Python splits otherwise: " + line);
  }
  return *read;
}

void check_cell(const std::string& cell, const std::string& wanted) {
  if (cell != wanted) violated("a cell is \"" + cell + "\" and not \"" + wanted + '"');
}

template <class Number>
std::string text_of(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "";
}

}  // namespace

void check_mot(const FrameInfo& frame, std::span<const FrameBox> all, const std::string& text) {
  std::vector<FrameBox> boxes(all.begin(), all.end());
  if (frame.tracked)
    std::erase_if(boxes, [](const FrameBox& box) { return !box.tracking_id.has_value(); });
  const auto rows = rows_of(text, boxes.size(), 10, ',');
  for (size_t i = 0; i < boxes.size(); ++i) {
    check_cell(rows[i][0], std::to_string(frame.number));
    check_cell(rows[i][1], boxes[i].tracking_id ? std::to_string(*boxes[i].tracking_id) : "-1");
    check_hull(boxes[i], std::span(rows[i]).subspan(2), true);
    if (!reads_as(rows[i][6], boxes[i].score)) violated("a score that reads otherwise");
  }
}

void check_kitti(std::span<const FrameBox> boxes, const std::string& text) {
  const auto rows = rows_of(text, boxes.size(), 16, ' ');
  for (size_t i = 0; i < boxes.size(); ++i) {
    check_word(rows[i][0]);
    if (!is_word_of(rows[i][0], boxes[i].label)) violated("another class: " + rows[i][0]);
    check_hull(boxes[i], std::span(rows[i]).subspan(4), false);
    if (!reads_as(rows[i][15], boxes[i].score)) violated("a score that reads otherwise");
  }
}

void check_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, const std::string& text) {
  const auto rows = read_csv(text);
  if (!rows || rows->size() != boxes.size()) violated("not a record a box: " + text);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Cells& row = (*rows)[i];
    const FrameBox& box = boxes[i];
    if (row.size() != 12) violated("a record with other columns: " + text);
    check_cell(row[0], std::to_string(frame.number));
    check_cell(row[1], text_of(frame.timestamp));
    check_cell(row[2], written_name(box.label));
    check_cell(row[3], text_of(box.class_id));
    const std::array numbers{box.score, box.box.x1, box.box.y1, box.box.x2, box.box.y2};
    for (size_t n = 0; n < numbers.size(); ++n)
      if (!reads_as(row[4 + n], numbers[n]))
        violated("a number that reads otherwise: " + row[4 + n]);
    check_cell(row[9], text_of(box.tracking_id));
    check_cell(row[10], written_model(box));
    if (!reads_as(row[11], box.angle)) violated("an angle that reads otherwise");
  }
}

void check_dota(const FrameInfo& frame, std::span<const FrameBox> boxes,
                const std::map<std::string, std::string>& by_class) {
  size_t rows = 0;
  std::map<std::string, std::vector<Cells>> read;
  for (const auto& [word, text] : by_class) {
    check_word(word);
    const auto count = static_cast<size_t>(std::ranges::count(text, '\n'));
    read[word] = rows_of(text, count, 10, ' ');
    rows += count;
  }
  if (rows != boxes.size()) violated("not a row a box");
  for (const FrameBox& box : boxes) {
    const Oriented oriented(box);
    const double scale = scale_of(box);
    const auto is_box = [&](const Cells& row) {
      bool same = row[0] == std::to_string(frame.number) && reads_as(row[1], box.score);
      for (size_t i = 0; i < 4; ++i)
        same = same && near(row[2 + 2 * i], oriented.x[i], scale) &&
               near(row[3 + 2 * i], oriented.y[i], scale);
      return same;
    };
    const auto has_box = [&](const auto& file) {
      return is_word_of(file.first, box.label) && std::ranges::any_of(file.second, is_box);
    };
    if (std::ranges::none_of(read, has_box)) violated("a box that no file of its class has");
  }
}

}  // namespace keepbox::fuzz
