// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks whether values can be those of a family.
#include "core/recognition/value_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/formula/coding.h"
#include "core/recognition/fit.h"
#include "core/recognition/maps.h"

namespace keepbox {
namespace {

/// Maximum magnitude of offsets from cells and log sizes, most of which stay below 5. If one object
/// fills the picture, no log size is negative.
constexpr float kMaxRawValue = 16.0f;

/// Tolerance for centres beyond the picture's edge, as a share of the largest centre.
constexpr float kBeyondEdge = 1.0f / 4;

/// Returns the number of valid rows: those after the model's own count may hold anything.
uint32_t rows_of(const Layout& layout, std::span<const TensorView> tensors) {
  if (const Field& image = layout[FieldId::kImage]; image.present()) {
    const TensorView& view = tensors[static_cast<size_t>(image.tensor)];
    uint32_t rows = 0;
    while (rows < layout.anchors && load(view, image.at(0, rows)) >= 0) ++rows;
    return rows;
  }
  if (!layout[FieldId::kCount].present()) return layout.anchors;
  const TensorView& count = tensors[static_cast<size_t>(layout[FieldId::kCount].tensor)];
  if (count.space != MemorySpace::kSystem || count.data == nullptr) return 0;
  return filled_rows(load(count, layout[FieldId::kCount].at(0, 0)), layout.anchors);
}

/// Detects rows of class -1, which are empty and whose other values are undefined.
class EmptyRows {
 public:
  EmptyRows(const Layout& layout, std::span<const TensorView> tensors)
      : field_(layout[FieldId::kClassId]) {
    if (!field_.present() || layout.spec->reader != Reader::kReady) return;
    view_ = &tensors[static_cast<size_t>(field_.tensor)];
  }
  bool has(uint32_t row) const { return view_ != nullptr && load(*view_, field_.at(0, row)) == -1; }

 private:
  const Field& field_;
  const TensorView* view_ = nullptr;
};

bool all_look_like_probabilities(const Layout& layout, FieldId id, uint32_t channels,
                                 std::span<const TensorView> tensors) {
  return !layout[id].present() ||
         std::ranges::all_of(ranges(layout, id, channels, tensors), looks_like_probabilities);
}

/// Checks the scores of keypoints that must have three values each.
bool keypoint_scores_plausible(const Layout& layout, std::span<const TensorView> tensors) {
  const size_t values = layout.payload_count;
  const bool points = layout.spec->payload == Payload::kKeypoints;
  if (!points || values % 3 != 0 || values % 2 == 0) return true;
  const auto seen = ranges(layout, FieldId::kPayload, layout.payload_count, tensors);
  for (size_t i = 2; i < seen.size(); i += 3)
    if (!looks_like_probabilities(seen[i])) return false;
  return true;
}

std::unexpected<Error> contradicted(const Layout& layout, const char* expected, std::string found) {
  const bool one = layout.spec->tensor_count == 1;
  return fail(ErrorKind::kMismatch, expected + std::string(" for ") + family_text(layout),
              std::move(found),
              std::string("set detector= to the model's family or a file that describes it, or "
                          "num-classes= to its number of classes") +
                  (one ? "" : ", or tensor-ids= to its tensors"));
}

std::unexpected<Error> contradicted(const Layout& layout, const char* expected,
                                    std::span<const TensorView> tensors) {
  return contradicted(layout, expected, to_string(tensors) + " with other values");
}

constexpr const char* kProbabilities = "scores in 0..1";

/// Checks that scores in a tensor of their own have no background unless the family has one, and
/// that the last score is that of a class.
Status check_sums(const Layout& layout, std::span<const TensorView> tensors) {
  const DetectorSpec& spec = *layout.spec;
  if (!layout[FieldId::kScores].present() || spec.background != Background::kNone) return {};
  if (spec.reader == Reader::kSplit && background_of(layout, tensors) != Background::kNone)
    return contradicted(layout, "scores without a background",
                        to_string(tensors) + " with scores that add up to 1");
  // Scores of most rows mean nothing if an objectness multiplies them, and those of queries.
  const bool every_row =
      !layout[FieldId::kObjectness].present() && spec.shape.cells != Cells::kNoGrid;
  if (spec.reader == Reader::kDense && spec.payload == Payload::kNone && every_row &&
      ends_in_angle(layout, tensors))
    return contradicted(layout, "class scores",
                        to_string(tensors) + " with a last score that nearly all anchors have");
  return {};
}

Status check_scores(const Layout& layout, std::span<const TensorView> tensors) {
  const DetectorSpec& spec = *layout.spec;
  const bool clamped = spec.score == ScoreRule::kGeometricMean;
  if (!spec.probabilities || spec.activation != Activation::kNone || clamped) return {};
  if (all_look_like_probabilities(layout, FieldId::kObjectness, 1, tensors) &&
      all_look_like_probabilities(layout, FieldId::kScores, layout.classes, tensors) &&
      all_look_like_probabilities(layout, FieldId::kScore, 1, tensors) &&
      keypoint_scores_plausible(layout, tensors))
    return check_sums(layout, tensors);
  return contradicted(layout, kProbabilities, tensors);
}

/// True if the ranges of corners are implausible: in the wrong order, too large for fractions, or
/// too far below zero.
bool are_no_corners(std::span<const Range> box, Units units) {
  const float largest = std::max(box[2].max, box[3].max);
  return box[2].max <= box[0].max || box[3].max <= box[1].max ||
         (units == Units::kNormalized && largest > kMaxNormalized) ||
         std::min(box[0].min, box[1].min) < -largest;
}

/// Compares the order of the values in each row with corners, or centres and sizes.
Status check_order(const Layout& layout, std::span<const TensorView> tensors) {
  const BoxCoding coding = layout.spec->coding;
  const bool selected =
      layout.spec->reader != Reader::kDense && layout.spec->reader != Reader::kSplit;
  const bool deltas = coding == BoxCoding::kPriorDelta, centres = coding == BoxCoding::kCenterSize;
  if (selected || !(deltas || centres || coding == BoxCoding::kCorners)) return {};
  const BoxOrder order = box_order(layout, tensors);
  if ((deltas || centres) && order == BoxOrder::kAscending)
    return contradicted(layout, deltas ? "deltas of prior boxes" : "centres and sizes",
                        to_string(tensors) + " with corners x1 y1 x2 y2");
  if (coding == BoxCoding::kCorners && order == BoxOrder::kDisordered)
    return contradicted(layout, "box corners", tensors);
  return {};
}

Status check_boxes(const Layout& layout, std::span<const TensorView> tensors, bool beyond) {
  if (layout[FieldId::kIndices].present()) return {};
  const auto box = box_ranges(layout, tensors);
  if (box.empty()) return {};
  if (layout.spec->coding == BoxCoding::kCenterSize && looks_undecoded(box, beyond))
    return contradicted(layout, "decoded boxes", tensors);
  KB_TRY(check_order(layout, tensors));
  const BoxCoding coding = layout.spec->coding;
  const float longest = std::max(box[2].max, box[3].max);
  if (coding == BoxCoding::kCorners && layout.spec->units == Units::kPixels && longest > 0 &&
      longest <= kMaxNormalized)
    return contradicted(layout, "boxes in pixels", to_string(tensors) + " with boxes in 0..1");
  if ((coding == BoxCoding::kGridExp || coding == BoxCoding::kPriorDelta) &&
      longest > kMaxLogarithm / std::min(1.0f, 5 * layout.spec->box_scale[2]))
    return contradicted(layout, "box offsets and log sizes", tensors);
  if (coding == BoxCoding::kCorners && layout.spec->reader == Reader::kSplit &&
      are_no_corners(box, layout.spec->units))
    return contradicted(layout, "box corners", tensors);
  if (layout.spec->units == Units::kNormalized && coding == BoxCoding::kCenterSize &&
      layout.spec->reader == Reader::kSplit && longest > kMaxNormalized)
    return contradicted(layout, "boxes in 0..1", tensors);
  return {};
}

Status check_classes(const Layout& layout, std::span<const TensorView> tensors) {
  if (!layout[FieldId::kClassId].present()) return {};
  const auto ids = ranges(layout, FieldId::kClassId, 1, tensors);
  if (ids.empty() || ids[0].integer) return {};
  return contradicted(layout, "integer class ids", tensors);
}

/// Detects rows whose own score is below a threshold.
class LowRows {
 public:
  LowRows(const Layout& layout, std::span<const TensorView> tensors, float threshold)
      : field_(layout[FieldId::kScore]), threshold_(threshold) {
    if (!field_.present() || threshold == kNoThreshold) return;
    const TensorView& view = tensors[static_cast<size_t>(field_.tensor)];
    if (view.space == MemorySpace::kSystem && view.data != nullptr) view_ = &view;
  }
  bool has(uint32_t row) const {
    return view_ != nullptr && !(load(*view_, field_.at(0, row)) >= threshold_);
  }

 private:
  const Field& field_;
  float threshold_;
  const TensorView* view_ = nullptr;
};

/// Extends the ranges by a segment's values. @return false if they are not in host memory.
bool extend_ranges(const Layout& layout, const Segment& segment, FieldId id,
                   std::span<const TensorView> tensors, float threshold, std::span<Range> out) {
  const Field& field = segment[id];
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  if (view.space != MemorySpace::kSystem || view.data == nullptr) return false;
  const EmptyRows empty(layout, tensors);
  const LowRows low(layout, tensors, threshold);
  const bool pointed_to = segment[FieldId::kIndices].present() && id != FieldId::kIndices;
  const uint32_t rows =
      pointed_to ? layout.indexed : std::min(rows_of(layout, tensors), segment.count);
  const auto include = [&](uint32_t anchor, uint32_t channel) {
    if (empty.has(anchor) || low.has(anchor)) return;
    const float value = load(view, field.at(0, anchor, channel));
    if (!is_finite(value)) return;
    Range& range = out[channel];
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
    range.integer = range.integer && value == std::trunc(value);
  };
  const auto channels = static_cast<uint32_t>(out.size());
  // Iterates in memory order because the values may be megabytes.
  if (field.channel_stride == 1) {
    for (uint32_t anchor = 0; anchor < rows; ++anchor)
      for (uint32_t channel = 0; channel < channels; ++channel) include(anchor, channel);
  } else {
    for (uint32_t channel = 0; channel < channels; ++channel)
      for (uint32_t anchor = 0; anchor < rows; ++anchor) include(anchor, channel);
  }
  return true;
}

/// True if there are three values per keypoint, in pixels if the boxes are.
bool likely_keypoints(const Layout& layout, std::span<const TensorView> tensors) {
  if (layout.payload_count % 3 != 0) return false;
  if (!in_bounds(layout, tensors)) return true;
  const auto boxes = box_ranges(layout, tensors);
  const auto points = ranges(layout, FieldId::kPayload, layout.payload_count, tensors);
  const auto in_pixels = [](const Range& range) { return range.max > kMaxNormalized; };
  return boxes.empty() || points.empty() || std::ranges::none_of(boxes, in_pixels) ||
         std::ranges::any_of(points, in_pixels);
}

}  // namespace

std::vector<Range> ranges(const Layout& layout, FieldId id, uint32_t channels,
                          std::span<const TensorView> tensors, float threshold) {
  std::vector<Range> out(channels);
  for (const Segment& segment : layout.segments)
    if (!extend_ranges(layout, segment, id, tensors, threshold, out)) return {};
  return out;
}

std::vector<Range> box_ranges(const Layout& layout, std::span<const TensorView> tensors,
                              float threshold) {
  if (layout.spec->bins > 1 || layout[FieldId::kSizes].present()) return {};
  return ranges(layout, FieldId::kBox, 4, tensors, threshold);
}

bool in_bounds(const Layout& layout, std::span<const TensorView> tensors) {
  return std::ranges::all_of(layout.segments, [&](const Segment& segment) {
    return std::ranges::all_of(segment.fields, [&](const Field& field) {
      return !field.present() || check_bounds(tensors[static_cast<size_t>(field.tensor)]);
    });
  });
}

std::optional<bool> looks_decoded(const Layout& layout, std::span<const TensorView> tensors) {
  if (!in_bounds(layout, tensors)) return std::nullopt;
  const auto box = box_ranges(layout, tensors);
  if (box.empty()) return std::nullopt;
  if (box[2].min < 0 || box[3].min < 0) return false;
  return std::ranges::any_of(
      box, [](const Range& range) { return std::max(-range.min, range.max) > kMaxRawValue; });
}

bool looks_like_probabilities(const Range& range) {
  return range.min >= -kBelowZero && range.max <= 1 + kRounding;
}

bool looks_undecoded(std::span<const Range> box, bool beyond) {
  const auto below = [&](size_t first, float share) {
    const float largest = std::max({box[first].max, box[first + 1].max, 0.0f});
    return std::min(box[first].min, box[first + 1].min) < -share * largest;
  };
  return (beyond && below(0, kBeyondEdge)) || below(2, kSizeRounding);
}

Status check_values(const Layout& layout, std::span<const TensorView> tensors, bool beyond) {
  KB_TRY(check_scores(layout, tensors));
  KB_TRY(check_boxes(layout, tensors, beyond));
  return check_classes(layout, tensors);
}

Status check_best_score(const Layout& layout, float score) {
  if (!layout.spec->probabilities || score <= 1 + kRounding) return {};
  return contradicted(layout, kProbabilities, std::string("a box with a higher score"));
}

bool likely_payload(const Layout& layout, std::span<const TensorView> tensors) {
  if (layout.spec->payload == Payload::kKeypoints) return likely_keypoints(layout, tensors);
  if (layout.spec->payload != Payload::kAngle) return true;
  if (!check_bounds(tensors[static_cast<size_t>(layout[FieldId::kAngle].tensor)])) return false;
  const auto angle = ranges(layout, FieldId::kAngle, 1, tensors);
  return !angle.empty() && angle[0].min >= -kTurn && angle[0].max <= kTurn;
}

namespace {

constexpr float kRoundedSum = 0.02f;    // maximum error of a sum of scores
constexpr float kNearZero = 0.05f;      // scores of most anchors are below
constexpr uint32_t kRareShare = 10;     // one in so many rows is an exception
constexpr uint32_t kReversedShare = 4;  // one in so many rows has no object and may be reversed

/// A field of all anchors of the first image.
class FieldRows {
 public:
  FieldRows(const Layout& layout, FieldId id, std::span<const TensorView> tensors)
      : layout_(layout), id_(id), tensors_(tensors) {
    const auto reads = [&](const Segment& segment) {
      const Field& field = segment[id];
      if (!field.present()) return false;
      const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
      return view.space == MemorySpace::kSystem && view.data != nullptr;
    };
    readable_ = !layout.segments.empty() && std::ranges::all_of(layout.segments, reads) &&
                in_bounds(layout, tensors);
  }

  bool readable() const { return readable_; }

  /// Calls visit with a function that returns a channel of a row, for each row, until it returns
  /// false. @return false if it did. @pre readable()
  template <class Visit>
  bool each(Visit visit) const {
    for (const Segment& segment : layout_.segments) {
      const Field& field = segment[id_];
      const TensorView& view = tensors_[static_cast<size_t>(field.tensor)];
      for (uint32_t row = 0; row < segment.count; ++row)
        if (!visit([&](uint32_t channel) { return load(view, field.at(0, row, channel)); }))
          return false;
    }
    return true;
  }

 private:
  const Layout& layout_;
  FieldId id_;
  std::span<const TensorView> tensors_;
  bool readable_ = false;
};

}  // namespace

BoxOrder box_order(const Layout& layout, std::span<const TensorView> tensors) {
  const FieldRows rows(layout, FieldId::kBox, tensors);
  if (!rows.readable() || layout.spec->bins > 1 || layout[FieldId::kSizes].present())
    return BoxOrder::kUnknown;
  uint32_t seen = 0, ascending = 0, reversed = 0;
  std::array<float, 4> last{};
  rows.each([&](auto at) {
    const std::array box{at(0), at(1), at(2), at(3)};
    if (!std::ranges::all_of(box, [](float each) { return std::isfinite(each); })) return true;
    if (box == std::array<float, 4>{}) return true;
    if (std::exchange(last, box) == box) return true;  // the same box is no further evidence
    ++seen;
    ascending += box[2] > box[0] && box[3] > box[1] ? 1 : 0;
    reversed += box[2] < box[0] || box[3] < box[1] ? 1 : 0;
    return true;
  });
  if (seen < kMinGrid) return BoxOrder::kUnknown;
  if (ascending == seen) return BoxOrder::kAscending;
  return reversed > seen / kReversedShare ? BoxOrder::kDisordered : BoxOrder::kNearly;
}

bool may_add_to_one(const Layout& layout, std::span<const TensorView> tensors) {
  const FieldRows rows(layout, FieldId::kScores, tensors);
  if (!rows.readable()) return true;
  return rows.each([&](auto at) {
    float sum = 0;
    bool positive = true;
    for (uint32_t i = 0; i < layout.classes; ++i) {
      const float each = at(i);
      sum += each;
      positive = positive && !(each < -kRoundedSum);
    }
    return std::isnan(sum) || sum == 0 || (positive && std::abs(sum - 1) <= kRoundedSum);
  });
}

ScoreCount count_scores(const Layout& layout, std::span<const TensorView> tensors) {
  const bool classed = layout[FieldId::kScores].present();
  const FieldRows rows(layout, classed ? FieldId::kScores : FieldId::kScore, tensors);
  ScoreCount out;
  if (!rows.readable()) return out;
  rows.each([&](auto at) {
    for (uint32_t i = 0; i < (classed ? layout.classes : 1); ++i, ++out.all)
      out.not_finite += std::isfinite(at(i)) ? 0 : 1;
    return true;
  });
  return out;
}

Background background_of(const Layout& layout, std::span<const TensorView> tensors) {
  const FieldRows rows(layout, FieldId::kScores, tensors);
  if (layout.classes < 2 || layout.anchors < kMinGrid || !rows.readable() ||
      !may_add_to_one(layout, tensors))
    return Background::kNone;
  uint32_t first = 0, last = 0;
  rows.each([&](auto at) {
    first += at(0) > 0.5f ? 1 : 0;
    last += at(layout.classes - 1) > 0.5f ? 1 : 0;
    return true;
  });
  if (first * 2 > layout.anchors) return Background::kFirst;
  return last * 2 > layout.anchors ? Background::kLast : Background::kNone;
}

bool ends_in_angle(const Layout& layout, std::span<const TensorView> tensors) {
  const FieldRows rows(layout, FieldId::kScores, tensors);
  if (layout.classes < 2 || layout.anchors < kMinGrid || !rows.readable()) return false;
  const auto above = [&](uint32_t first, uint32_t end) {
    uint64_t count = 0;
    rows.each([&](auto at) {
      for (uint32_t i = first; i < end; ++i) count += at(i) > kNearZero ? 1 : 0;
      return true;
    });
    return count;
  };
  const uint32_t last = layout.classes - 1;
  const bool dense = layout.anchors - above(last, layout.classes) <= layout.anchors / kRareShare;
  return dense && above(0, last) <= uint64_t{layout.anchors} * last / kRareShare;
}

namespace {

/// Returns the tensors that are neither read nor ignored by the family.
std::vector<size_t> left_over(const Layout& layout, size_t count) {
  const std::vector<size_t> read = read_tensors(layout);
  std::vector<size_t> out;
  for (size_t i = 0; i < count; ++i)
    if (!std::ranges::contains(read, i) &&
        !std::ranges::contains(layout.ignored, static_cast<int>(i)))
      out.push_back(i);
  return out;
}

}  // namespace

std::vector<size_t> read_tensors(const Layout& layout) {
  std::set<size_t> used;
  for (const Segment& segment : layout.segments)
    for (const Field& field : segment.fields)
      if (field.present()) used.insert(static_cast<size_t>(field.tensor));
  return {used.begin(), used.end()};
}

bool belong_together(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  size_t shared = 1, others = 0;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (a[i] == b[i]) shared *= std::min<size_t>(a[i], kMinGrid);
    else ++others;
  }
  return others <= 1 && shared >= kMinGrid;
}

std::vector<size_t> unread_parts(const Layout& layout, std::span<const TensorView> tensors) {
  const std::vector<size_t> read = read_tensors(layout);
  std::vector<size_t> out = left_over(layout, tensors.size());
  std::erase_if(out, [&](size_t i) {
    return std::ranges::none_of(read, [&](size_t other) {
      return belong_together(tensors[i].shape, tensors[other].shape);
    });
  });
  return out;
}

std::vector<size_t> misfits(const Layout& layout, std::span<const TensorView> tensors) {
  std::vector<size_t> out = left_over(layout, tensors.size());
  std::erase_if(out, [&](size_t i) {
    const std::string_view id = tensors[i].id;
    return std::ranges::none_of(layout.spec->rules(), [&](const TensorRule& rule) {
      const auto of_level = [&](uint32_t stride) { return rule.has(id, stride); };
      return rule.optional && (rule.has(id) || rule.has_plain(id) ||
                               std::ranges::any_of(layout.spec->strides, of_level));
    });
  });
  return out;
}

}  // namespace keepbox
