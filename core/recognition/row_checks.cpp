// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the rows of a layout's first image.
#include "core/recognition/row_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/recognition/grid.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
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

}  // namespace keepbox
