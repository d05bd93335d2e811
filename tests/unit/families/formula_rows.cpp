// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws rows and makes tensors of them.
#include "tests/unit/families/formula_rows.h"

namespace keepbox::test {

double number(const Found& row, char letter, bool fractions) {
  const double w = fractions ? kInput.width : 1, h = fractions ? kInput.height : 1;
  switch (letter) {
    case 'x': return row.box[0] / w;
    case 'y': return row.box[1] / h;
    case 'X': return row.box[2] / w;
    case 'Y': return row.box[3] / h;
    case 's': return row.score;
    case 'c': return row.class_id;
    default: return 0;
  }
}

namespace {

/// Updates the row with a value rounded to its type.
void take_back(Found& row, char letter, double value, bool fractions) {
  const double w = fractions ? kInput.width : 1, h = fractions ? kInput.height : 1;
  if (letter == 'x') row.box[0] = value * w;
  if (letter == 'y') row.box[1] = value * h;
  if (letter == 'X') row.box[2] = value * w;
  if (letter == 'Y') row.box[3] = value * h;
  if (letter == 's') row.score = value;
}

}  // namespace

/// Draws rows: the first ones are boxes, best first, the others far below any threshold.
std::vector<Found> draw_rows(Chance& chance, size_t rows) {
  std::vector<Found> out;
  for (size_t i = 0; i < rows; ++i) {
    const double x = between(chance, 0, 500), y = between(chance, 0, 700);
    out.push_back({{x, y, x + between(chance, 4, 200), y + between(chance, 4, 200)},
                   i < kFilled ? 0.98 - 0.03 * double(i) : 0.01,
                   uint32_t(chance() % 80)});
  }
  return out;
}

Frame frame_of(const char* family, std::string form, const std::vector<Found>& rows) {
  Frame out{.family = family, .form = std::move(form)};
  out.settings.detector = family;
  out.settings.frame.size = out.settings.model_size = kInput;
  out.settings.nms_method = NmsMethod::kNone;
  out.settings.max_detections = 100000;
  out.settings.score_threshold = 0.205f;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].score > 0.205)
      out.truths.push_back({uint32_t(i), rows[i].class_id, rows[i].score, rows[i].box});
  return out;
}

/// Makes a tensor of some values of each row.
Tensor table(std::vector<Found>& rows, const char* order, bool fractions, const Shape& shape,
             DataType type, const char* id) {
  std::vector<double> values;
  for (const Found& row : rows)
    for (const char* letter = order; *letter != 0; ++letter)
      values.push_back(number(row, *letter, fractions));
  Tensor out = stored(values, shape, type);
  size_t i = 0;
  for (Found& row : rows)
    for (const char* letter = order; *letter != 0; ++letter)
      take_back(row, *letter, values[i++], fractions);
  out.id = id;
  return out;
}

}  // namespace keepbox::test
