// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the columns of readers with rows of values, and that others have none.
#include "gst/decode/detectorfile/detectorcolumns.h"

#include <string>
#include <utility>

#include "core/recognition/fit.h"
#include "gst/decode/detectorfile/detectorfields.h"

namespace keepbox {
namespace {

/// Checks a column of one value: inside a row of that many, and not one of the box.
Found check_column(const DetectorSpec& spec, std::string_view key, int8_t column, size_t end) {
  const int box = spec.columns.box, box_end = box + 4 * spec.bins;
  const bool boxed = !spec.columns.box_last && column >= box && column < box_end;
  if (column < static_cast<int>(end) && !boxed) return {};
  return fault(key, "a column below " + std::to_string(end) + (boxed ? " outside of the box" : ""),
               column_text(column));
}

Found check_dense(const DetectorSpec& spec) {
  const Columns& c = spec.columns;
  const int box_end = c.box + 4 * spec.bins;
  for (const auto& [key, column] : {std::pair("score-column", c.score),
                                    {"class-id-column", c.class_id},
                                    {"image-column", c.image},
                                    {"angle-column", c.angle}})
    if (column >= 0) return fault(key, "none with reader=dense", column_text(column));
  if (c.classes < 0) return fault("classes-column", "the first column of class scores", "none");
  if (!c.box_last && box_end > c.classes)
    return fault("classes-column",
                 "a column after those of the box, " + std::to_string(c.box) + " to " +
                     std::to_string(box_end - 1),
                 column_text(c.classes));
  if (c.box_last && spec.payload != Payload::kNone)
    return fault("payload", "none with box-last=true", "another payload");
  return check_column(spec, "objectness-column", c.objectness, static_cast<size_t>(c.classes));
}

Found check_ready(const DetectorSpec& spec) {
  const Columns& c = spec.columns;
  const size_t end = min_channels(spec);
  if (c.classes >= 0)
    return fault("classes-column", "none with reader=ready", column_text(c.classes));
  if (c.objectness >= 0)
    return fault("objectness-column", "none with reader=ready", column_text(c.objectness));
  if (c.box_last) return fault("box-last", "false with reader=ready", "true");
  if (static_cast<size_t>(c.box) + 4 > end)
    return fault("box-column",
                 "at most " + std::to_string(end - 4) + " of " + std::to_string(end) + " columns",
                 column_text(c.box));
  if (c.score < 0) return fault("score-column", "the column of the score", "none");
  for (const auto& [key, column] : {std::pair("score-column", c.score),
                                    {"class-id-column", c.class_id},
                                    {"image-column", c.image},
                                    {"angle-column", c.angle}})
    if (auto found = check_column(spec, key, column, end)) return found;
  const bool twice =
      c.score == c.class_id || c.score == c.image || (c.class_id >= 0 && c.class_id == c.image);
  if (twice)
    return fault("score-column", "separate columns for score, class and image", "a shared column");
  if ((c.angle >= 0) != (spec.payload == Payload::kAngle))
    return fault("angle-column", "a column if payload=angle, none otherwise", column_text(c.angle));
  if (c.angle >= 0 && (c.angle == c.score || c.angle == c.class_id || c.angle == c.image))
    return fault("angle-column", "a separate column", column_text(c.angle));
  return {};
}

}  // namespace

Found check_columns(const DetectorSpec& spec) {
  if (spec.reader == Reader::kDense) return check_dense(spec);
  if (spec.reader == Reader::kReady) return check_ready(spec);
  const Columns &c = spec.columns, none = default_columns(spec.reader);
  const bool same = c.box == none.box && c.objectness == none.objectness &&
                    c.classes == none.classes && c.score == none.score &&
                    c.class_id == none.class_id && c.image == none.image && c.angle == none.angle &&
                    c.payload == none.payload && c.box_last == none.box_last;
  if (same) return {};
  return fault("reader", "dense or ready if columns are set", "another reader");
}

}  // namespace keepbox
