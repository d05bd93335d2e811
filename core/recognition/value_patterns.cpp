// SPDX-License-Identifier: LGPL-2.1-or-later
// Detects value patterns that are specific to one family.
#include "core/recognition/value_patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/formula/box.h"
#include "core/recognition/maps.h"
#include "core/recognition/recognise.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

constexpr float kMaxOffset = 128;          // of a cell, in cells
constexpr size_t kMaxImageRows = 1 << 16;  // images of a batch

/// A table in host memory, as rows or as planes.
class Rows {
 public:
  Rows(const TensorView& view, size_t anchors, size_t channels, bool planes = false)
      : view_(view),
        anchors_(anchors),
        channels_(channels),
        row_stride_(planes ? 1 : channels),
        column_stride_(planes ? anchors : 1) {}

  float at(size_t row, size_t column) const {
    return load(view_, row * row_stride_ + column * column_stride_);
  }

  template <class Test>
  bool all(Test test) const {
    for (size_t row = 0; row < anchors_; ++row)
      if (!test(row)) return false;
    return anchors_ > 0;
  }
  template <class Test>
  bool any(Test test) const {
    return !all([&](size_t row) { return !test(row); }) && anchors_ > 0;
  }

  bool probabilities_from(size_t first) const {
    return all([&](size_t row) {
      for (size_t column = first; column < channels_; ++column)
        if (!(at(row, column) >= -kBelowZero && at(row, column) <= 1 + kRounding)) return false;
      return true;
    });
  }
  std::array<keepbox::Range, 4> box() const {
    std::array<keepbox::Range, 4> out;
    for (size_t row = 0; row < anchors_; ++row)
      for (size_t i = 0; i < 4; ++i) {
        out[i].min = std::min(out[i].min, at(row, i));
        out[i].max = std::max(out[i].max, at(row, i));
      }
    return out;
  }
  bool filled(size_t row) const { return at(row, 4) > 0 && at(row, 2) > 0 && at(row, 3) > 0; }

  /// True if each row that differs from the last one has corners, and there are enough of them that
  /// centres and sizes would not look so by chance.
  bool cornered() const {
    size_t found = 0;
    std::array<float, 4> last{};
    const bool all_are = all([&](size_t row) {
      const std::array box{at(row, 0), at(row, 1), at(row, 2), at(row, 3)};
      const bool known =
          box == std::array<float, 4>{} || std::exchange(last, box) == box;  // no further evidence
      found += known ? 0 : 1;
      return known || (at(row, 2) > at(row, 0) && at(row, 3) > at(row, 1));
    });
    return all_are && found >= kMinGrid;
  }

 private:
  const TensorView& view_;
  size_t anchors_, channels_;
  size_t row_stride_, column_stride_;
};

/// True for rows with a score and a class after the box, at least one of which is an object.
bool are_scored(const Rows& rows) {
  const auto plausible = [&](size_t row) {
    const float score = rows.at(row, 4), id = rows.at(row, 5);
    return score >= -kRounding && score <= 1 + kRounding && id == std::trunc(id) && id >= -1 &&
           id < static_cast<float>(kMaxClasses);
  };
  return rows.all(plausible) && rows.any([&](size_t row) { return rows.filled(row); });
}

bool are_cornered(const Rows& rows) {
  return rows.all([&](size_t row) {
    return rows.at(row, 2) >= rows.at(row, 0) && rows.at(row, 3) >= rows.at(row, 1);
  });
}

/// Detects end-to-end rows, which end in a score and a class.
ValuePattern pattern_of_ready_rows(const Rows& rows) {
  if (!are_scored(rows)) return ValuePattern::kNone;
  if (are_cornered(rows)) return ValuePattern::kCorners;
  const auto box = rows.box();
  const auto fraction = [](const keepbox::Range& range) {
    return range.min >= -kSizeRounding && range.max <= 1 + kSizeRounding;
  };
  return std::ranges::all_of(box, fraction) ? ValuePattern::kQueryRows : ValuePattern::kNone;
}

bool is_readable(const TensorView& tensor) {
  return tensor.space == MemorySpace::kSystem && tensor.data != nullptr &&
         check_bounds(tensor).has_value() && is_real(tensor);
}

}  // namespace

ValuePattern pattern_of(const TensorView& tensor, size_t anchors, size_t channels) {
  if (!is_readable(tensor) || anchors == 0 || channels < kMinChannels) return ValuePattern::kNone;
  const Rows rows(tensor, anchors, channels);
  if (channels == 6)
    if (const ValuePattern six = pattern_of_ready_rows(rows); six != ValuePattern::kNone)
      return six;
  const auto box = rows.box();
  if (!rows.probabilities_from(4)) return ValuePattern::kNone;
  if (rows.cornered()) return ValuePattern::kCornerScores;
  const auto within = [&](float lower, float upper) {
    return std::ranges::all_of(
        box, [&](const keepbox::Range& range) { return range.min >= lower && range.max <= upper; });
  };
  const bool logarithms = std::min(box[2].min, box[3].min) < -kSizeRounding &&
                          std::max(box[2].max, box[3].max) < kMaxLogarithm;
  if (channels > 5 && logarithms && within(-kMaxOffset, kMaxOffset))
    return ValuePattern::kGridOffsets;
  if (channels > 5 && rows.all([&](size_t row) { return rows.at(row, 4) == 1; }))
    return ValuePattern::kOnes;
  const bool sized = box[2].max > 0 && box[3].max > 0;
  return sized && within(-kSizeRounding, 1 + kSizeRounding) ? ValuePattern::kQueries
                                                            : ValuePattern::kNone;
}

ValuePattern pattern_of_planes(const TensorView& tensor, size_t channels, size_t anchors) {
  if (!is_readable(tensor) || anchors < kMinGrid || channels < kMinChannels)
    return ValuePattern::kNone;
  const Rows rows(tensor, anchors, channels, true);
  return rows.cornered() && rows.probabilities_from(4) ? ValuePattern::kCornerScores
                                                       : ValuePattern::kNone;
}

bool are_image_rows(const TensorView& tensor, size_t anchors, size_t channels,
                    const Columns& columns) {
  if (!is_readable(tensor) || anchors == 0) return false;
  const Rows rows(tensor, anchors, channels);
  const auto at = [&](size_t row, int column, int more = 0) {
    return rows.at(row, static_cast<size_t>(column + more));
  };
  const auto whole = [](float each) { return each == std::trunc(each); };
  bool ended = false, any = false;
  return rows.all([&](size_t row) {
    const float image = at(row, columns.image), score = at(row, columns.score),
                id = at(row, columns.class_id);
    ended = ended || image < 0;
    if (ended) return true;
    const float width = at(row, columns.box, 2) - at(row, columns.box),
                height = at(row, columns.box, 3) - at(row, columns.box, 1);
    any = any || (score > 0 && width > 0 && height > 0);
    return whole(image) && image < float(kMaxImageRows) && whole(id) && id >= -1 &&
           id < static_cast<float>(kMaxClasses) && score >= -kRounding && score <= 1 + kRounding &&
           width >= 0 && height >= 0;
  }) && any;
}

bool may_have_row_payload(const TensorView& tensor, size_t anchors, size_t channels,
                          Payload payload) {
  if (channels <= 6 || !is_readable(tensor)) return false;
  const Rows rows(tensor, anchors, channels);
  if (!are_scored(rows)) return false;
  if (payload == Payload::kAngle) {
    const auto angle = [&](size_t row) { return rows.at(row, 6); };
    return rows.all([&](size_t row) { return std::abs(angle(row)) <= kTurn; }) &&
           rows.any([&](size_t row) { return angle(row) != std::trunc(angle(row)); });
  }
  return payload == Payload::kKeypoints && channels % 3 == 0 && are_cornered(rows) &&
         rows.all([&](size_t row) {
           for (size_t i = 8; i < channels; i += 3)
             if (!(rows.at(row, i) >= -kRounding && rows.at(row, i) <= 1 + kRounding)) return false;
           return true;
         });
}

std::string_view pattern_text(ValuePattern pattern) {
  switch (pattern) {
    case ValuePattern::kGridOffsets: return "offsets from a grid";
    case ValuePattern::kCorners: return "rows of corners, score, class";
    case ValuePattern::kQueryRows: return "rows of centre, size, score, class";
    case ValuePattern::kOnes: return "objectness of 1 everywhere";
    case ValuePattern::kQueries: return "queries in 0..1";
    case ValuePattern::kCornerScores: return "corners, then class scores";
    case ValuePattern::kImageRows: return "rows of image, box, score, class";
    case ValuePattern::kCountedOutputs: return "the values of four tensors";
    case ValuePattern::kLabelledOutputs: return "the types of three tensors";
    case ValuePattern::kNone: break;
  }
  return {};
}

std::optional<bool> looks_softmaxed(const Layout& layout, std::span<const TensorView> tensors) {
  const Field& field = layout[FieldId::kScores];
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  if (view.space != MemorySpace::kSystem || view.data == nullptr || layout.classes == 0)
    return std::nullopt;
  uint32_t last = 0, low = 0;
  for (uint32_t anchor = 0; anchor < layout.anchors; ++anchor) {
    uint32_t best = 0;
    const auto logit = [&](uint32_t c) { return load(view, field.at(0, anchor, c)); };
    for (uint32_t c = 1; c < layout.classes; ++c)
      if (logit(c) > logit(best)) best = c;
    last += logit(best) > 0 && best + 1 == layout.classes ? 1 : 0;
    low += logit(best) > 0 ? 0 : 1;
  }
  if (layout.classes > 1 && last * 2 > layout.anchors) return true;
  if (low * 2 > layout.anchors) return false;
  return std::nullopt;
}

namespace {

/// Returns all values of a tensor; empty if they are not in host memory.
std::vector<float> values_of(const TensorView& tensor) {
  constexpr size_t kMax = 1 << 16;
  const size_t count = tensor.shape.count().value_or(0);
  const bool readable = tensor.space == MemorySpace::kSystem && tensor.data != nullptr;
  if (!readable || count == 0 || count > kMax || !check_bounds(tensor)) return {};
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = load(tensor, i);
  return out;
}

bool are_integers(const std::vector<float>& values) {
  return std::ranges::all_of(values,
                             [](float each) { return each >= 0 && each == std::trunc(each); });
}

bool are_within(const std::vector<float>& values, float lower, float upper) {
  return std::ranges::all_of(values, [&](float each) { return each >= lower && each <= upper; });
}

std::vector<size_t> find_counted_outputs(std::span<const TensorView> tensors) {
  constexpr size_t kOutputs = 4;
  std::array<std::optional<size_t>, kOutputs> found;  // boxes, scores, classes, count
  if (tensors.size() != kOutputs) return {};
  const auto take = [&](size_t role, size_t i) { found[role] = found[role].value_or(i); };
  size_t rows = 0;
  for (const TensorView& tensor : tensors)
    if (tensor.shape.rank() == 3 && tensor.shape[0] == 1 && tensor.shape[2] == 4)
      rows = tensor.shape[1];
  std::vector<size_t> blank;  // lists of zeros may be scores or classes
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape;
    const std::vector<float> values = values_of(tensors[i]);
    if (values.empty()) return {};
    const bool list = shape.rank() == 2 && shape[0] == 1 && shape[1] == rows && rows > 1;
    if (values.size() == 4 * rows && are_within(values, -kSizeRounding, 1 + kSizeRounding))
      take(0, i);
    else if (list && are_within(values, 0, 0)) blank.push_back(i);
    else if (list && are_within(values, 0, 1) && !are_integers(values)) take(1, i);
    else if (list && are_integers(values)) take(2, i);
    else if (values.size() == 1 && are_integers(values) && values[0] <= float(rows)) take(3, i);
  }
  for (const size_t i : blank) take(found[1] ? 2 : 1, i);
  std::vector<size_t> out;
  for (const auto& each : found)
    if (each) out.push_back(*each);
  return out.size() == kOutputs ? out : std::vector<size_t>();
}

/// True unless the host can read a row whose second corner is not after the first.
bool are_corners(const TensorView& boxes) {
  const std::vector<float> values = values_of(boxes);
  for (size_t i = 0; i + 3 < values.size(); i += 4)
    if (!(values[i + 2] >= values[i]) || !(values[i + 3] >= values[i + 1])) return false;
  return true;
}

std::vector<size_t> find_labelled_outputs(std::span<const TensorView> tensors) {
  std::array<std::vector<size_t>, 3> found;  // boxes, scores, labels
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [shape, type] = std::tie(tensors[i].shape, tensors[i].type);
    const bool real = type == DataType::kFloat32 || type == DataType::kFloat16;
    if (shape.rank() == 2 && shape[1] == 4 && real) found[0].push_back(i);
    else if (shape.rank() == 1 && real) found[1].push_back(i);
    else if (shape.rank() == 1 && type == DataType::kInt64) found[2].push_back(i);
  }
  std::vector<size_t> out;
  for (const auto& each : found)
    if (each.size() == 1) out.push_back(each[0]);
  if (out.size() != found.size()) return {};
  const size_t rows = tensors[out[0]].shape[0];
  const auto fits = [&](size_t i) { return tensors[i].shape[0] == rows; };
  return std::ranges::all_of(out, fits) && are_corners(tensors[out[0]]) ? out
                                                                        : std::vector<size_t>();
}

}  // namespace

std::vector<size_t> find_outputs(ValuePattern pattern, std::span<const TensorView> tensors) {
  if (pattern == ValuePattern::kCountedOutputs) return find_counted_outputs(tensors);
  if (pattern == ValuePattern::kLabelledOutputs) return find_labelled_outputs(tensors);
  return {};
}

bool adds_to_one(const TensorView& tensor, size_t rows, size_t columns) {
  constexpr float kRoundedSum = 0.02f;
  if (tensor.space != MemorySpace::kSystem || tensor.data == nullptr || !check_bounds(tensor))
    return false;
  for (size_t row = 0; row < rows; ++row) {
    float sum = 0, lower = 0;
    for (size_t i = 0; i < columns; ++i) {
      const float each = load(tensor, row * columns + i);
      sum += each;
      lower = std::min(lower, each);
    }
    if (!(std::abs(sum - 1) < kRoundedSum) || lower < 0) return false;
  }
  return rows > 0;
}

std::string other_task(std::span<const TensorView> tensors) {
  constexpr size_t kMinMap = 96;  // larger than the maps of detectors, apart from the finest ones
  if (tensors.size() != 1) return {};
  const Shape& shape = tensors[0].shape;
  if (is_plane(shape)) return "a text detector or a depth estimator";
  if (is_maps(shape) && std::min(shape[2], shape[3]) >= kMinMap)
    return "a model of maps, such as semantic segmentation";
  const bool flat = shape.rank() == 1 || (shape.rank() == 2 && shape[0] == 1);
  if (flat && shape[shape.rank() - 1] > 1)
    return "a classifier with " + std::to_string(shape[shape.rank() - 1]) + " classes";
  constexpr size_t kMinCharacters = 11;  // digits and the blank
  if (shape.rank() == 3 && shape[0] == 1 && shape[2] >= kMinCharacters && is_real(tensors[0]) &&
      adds_to_one(tensors[0], shape[1], shape[2]))
    return "a text recogniser";
  return {};
}

namespace {

constexpr size_t kMaxSeen = 256;  // anchors that are compared

/// The box of an anchor: its cell in pixels, and its centre in fractions of the input.
struct Seen {
  float cell_x, cell_y, x, y;
};

/// Returns the distance of the nearest box from another cell; infinity if there is none.
float nearest_of(const Seen& one, const std::vector<Seen>& all) {
  float nearest = std::numeric_limits<float>::infinity();
  for (const Seen& other : all)
    if (one.cell_x != other.cell_x || one.cell_y != other.cell_y)
      nearest = std::min(nearest, std::max(std::abs(one.x - other.x), std::abs(one.y - other.y)));
  return nearest;
}

/// Returns the boxes whose logit is above 0.
std::vector<Seen> seen_objects(const Layout& layout, std::span<const TensorView> tensors,
                               Size input) {
  const DetectorSpec& spec = *layout.spec;
  const Field &box = layout[FieldId::kBox], &scores = layout[FieldId::kScores];
  const TensorView &boxes = tensors[static_cast<size_t>(box.tensor)],
                   &logits = tensors[static_cast<size_t>(scores.tensor)];
  const auto side = static_cast<float>(input.width);
  std::vector<Seen> out;
  uint32_t anchor = 0;
  for (uint32_t level = 0; level < layout.levels; ++level) {
    const auto stride = static_cast<float>(spec.strides[level]);
    const Size cells = level_cells(input, spec.strides[level]);
    const uint32_t each = spec.anchors_of(level);
    for (uint32_t i = 0; i < cells.width * cells.height * each; ++i, ++anchor) {
      if (!(load(logits, scores.at(0, anchor)) > 0) || out.size() == kMaxSeen) continue;
      const auto at = [&](uint32_t channel) { return load(boxes, box.at(0, anchor, channel)); };
      const uint32_t cell = i / each;
      const float x = (static_cast<float>(cell % cells.width) + spec.cell_offset) * stride,
                  y = (static_cast<float>(cell / cells.width) + spec.cell_offset) * stride;
      out.push_back({x, y, (x + at(0)) / side, (y + at(1)) / side});
    }
  }
  return out;
}

}  // namespace

std::optional<float> spread_of(const Layout& layout, std::span<const TensorView> tensors,
                               Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool table = spec.coding == BoxCoding::kGridPixels && spec.interleaved &&
                     layout.grids.empty() && layout.classes == 1;
  if (!table || !in_bounds(layout, tensors) ||
      grid_anchors(input, spec, layout.levels) != layout.anchors ||
      ranges(layout, FieldId::kBox, 2, tensors).empty() ||
      ranges(layout, FieldId::kScores, 1, tensors).empty())
    return std::nullopt;
  const std::vector<Seen> seen = seen_objects(layout, tensors, input);
  std::vector<float> distances;
  for (const Seen& each : seen) distances.push_back(nearest_of(each, seen));
  if (distances.empty()) return std::nullopt;
  const auto middle = distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return std::isfinite(*middle) ? std::optional(*middle) : std::nullopt;
}

}  // namespace keepbox
