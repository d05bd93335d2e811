// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles the unit of coordinates.
#include "core/plan/units.h"

#include <algorithm>

#include "core/formula/coding.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

/// Observations on all boxes of the first image.
struct CoordinateRange {
  float largest = 0;      // of |coordinate|
  bool readable = false;  // in system memory
};

/// @param threshold of scores, for rows of which only those of objects count.
CoordinateRange coordinate_range(const Layout& layout, std::span<const TensorView> tensors,
                                 float threshold) {
  const auto box = box_ranges(layout, tensors, threshold);
  CoordinateRange out{.readable = !box.empty()};
  for (const Range& range : box) out.largest = std::max({out.largest, -range.min, range.max});
  return out;
}

}  // namespace

void settle_units(Plan& plan, const Settings& settings, bool box_coding_unknown,
                  std::span<const TensorView> tensors, Size model) {
  if (has_cells(plan.spec->coding)) {
    plan.provisional = box_coding_unknown;
    return;
  }
  const float threshold = std::min(settings.score_threshold,
                                   settings.track_threshold.value_or(settings.score_threshold));
  const CoordinateRange seen = coordinate_range(plan.layout, tensors, threshold);
  Units units = settings.units != Units::kAuto ? settings.units : plan.spec->units;
  if (units == Units::kAuto) {
    plan.provisional = !seen.readable || seen.largest == 0;
    units =
        !plan.provisional && seen.largest <= kMaxNormalized ? Units::kNormalized : Units::kPixels;
    if (!plan.provisional)
      plan.remark +=
          units == Units::kNormalized ? "; coordinates are in 0..1" : "; coordinates are in pixels";
  }
  plan.units = units;
  if (units == Units::kNormalized) {
    plan.rules.boxes.unit_x = static_cast<float>(model.width);
    plan.rules.boxes.unit_y = static_cast<float>(model.height);
    if (plan.spec->coding != BoxCoding::kPriorDelta && seen.largest > kMaxNormalized)
      plan.warnings.push_back(problem(ErrorKind::kMismatch,
                                      "The coordinates are not in 0..1: there are larger values",
                                      "set box-units=pixels"));
  }
}

}  // namespace keepbox
