// SPDX-License-Identifier: LGPL-2.1-or-later
// Evidence by which a family is recognised without tensor ids or names.
#pragma once

#include <cstdint>

namespace keepbox {

/// Pattern in the values of a family's tensors.
enum class ValuePattern : uint8_t {
  kNone,            // nothing, or the values are not in host memory
  kGridOffsets,     // offsets from cells, logarithms of sizes, then probabilities: YOLOX as trained
  kCorners,         // x1 y1 x2 y2, a score, an integer: end-to-end rows
  kQueryRows,       // cx cy w h in 0..1, a score, an integer
  kOnes,            // boxes, a score that is always 1, probabilities: YOLOv6's objectness
  kQueries,         // cx cy w h in 0..1, then probabilities
  kCornerScores,    // x1 y1 x2 y2, then probabilities, as rows or planes
  kImageRows,       // the image, a box, a score and an integer in the family's columns
  kCountedOutputs,  // boxes in 0..1, scores, integer classes, their count: a tensor each
  kLabelledOutputs  // corners, scores, integer labels: a tensor each
};

/// Arrangement of a tensor of anchors x channels.
enum class TableForm : uint8_t { kNone, kRows, kPlanes, kAny };

/// Required number of anchors: that of a grid over some input, or any other.
enum class Cells : uint8_t { kAny, kGrid, kNoGrid };

/// Describes the tensor of a family with one tensor, or the tensor of the scores. Unset members are
/// not evaluated.
struct ShapeHint {
  bool listed = false;  // a candidate for every tensor that it fits, at least in error messages
  ValuePattern pattern = ValuePattern::kNone;
  Cells cells = Cells::kAny;                // required by all evidence but max_rows
  TableForm by_classes = TableForm::kNone;  // arrangements that the number of classes identifies
  TableForm by_grid = TableForm::kNone;     // arrangements that the number of anchors identifies
  uint16_t classes = 0;                     // of the published models
  uint16_t max_rows = 0;                    // maximum of end-to-end rows, not on a grid
  uint8_t rank = 0;                         // end-to-end rows: number of dimensions of their tensor
  bool prototypes = false;                  // maps in another tensor identify it
  TableForm scores = TableForm::kAny;       // required of scores in a tensor of their own
};

}  // namespace keepbox
