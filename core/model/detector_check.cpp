// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks a family: its tensors, coding, levels and anchors.
#include "core/model/detector_check.h"

#include <vector>

#include "core/base/text.h"
#include "core/model/detector_fields.h"

namespace keepbox {

/// Returns the first fault of the columns: outside of a row, on top of each other, or not allowed
/// with the family's reader.
Found check_columns(const DetectorSpec& spec);

namespace {

/// The roles that a reader accepts: those it needs, in their order, and others.
struct Roles {
  std::vector<Role> needed, others;
  bool in_order = true;
};

Roles roles_of(Reader reader) {
  switch (reader) {
    case Reader::kDense: return {{Role::kAll}, {}};
    case Reader::kReady: return {{Role::kAll}, {Role::kCount}};
    case Reader::kOutputs: return {{Role::kBoxes, Role::kScores}, {Role::kClasses, Role::kCount}};
    case Reader::kIndices: return {{Role::kIndices, Role::kBoxes, Role::kScores}, {}};
    case Reader::kSplit: break;
  }
  return {{Role::kBoxes, Role::kScores},
          {Role::kObjectness, Role::kSizes, Role::kKeypoints, Role::kUnread},
          false};
}

std::string text_of(const std::vector<Role>& roles) {
  std::string out;
  for (const Role role : roles) append(out, word_of(role));
  return out;
}

Found check_roles(const DetectorSpec& spec) {
  const Roles roles = roles_of(spec.reader);
  for (size_t i = 0; i < roles.needed.size(); ++i) {
    const Role role = roles.needed[i];
    const bool there = roles.in_order ? i < spec.tensor_count && spec.tensors[i].role == role
                                      : count_of(spec, role) == 1;
    if (!there)
      return fault("reader",
                   "tensors " + text_of(roles.needed) +
                       (roles.in_order ? " first, in this order" : ", one of each"),
                   std::string(word_of(role)) + " missing, repeated or out of place");
  }
  for (size_t i = 0; i < spec.tensor_count; ++i) {
    const Role role = spec.tensors[i].role;
    const bool needed = std::ranges::contains(roles.needed, role);
    if (!needed && !std::ranges::contains(roles.others, role))
      return fault_of(i, "role", "one of " + text_of(roles.needed) + ", " + text_of(roles.others),
                      std::string(word_of(role)));
    if (role != Role::kUnread && count_of(spec, role) > 1)
      return fault_of(i, "role", "each role once", std::string(word_of(role)) + " twice");
    if (spec.tensors[i].optional && (needed || role == Role::kSizes))
      return fault_of(i, "optional", "false for " + std::string(word_of(role)), "true");
  }
  return {};
}

/// True if a box has values in addition to its corners, angle and scores.
bool has_values(const DetectorSpec& spec) {
  return spec.payload != Payload::kNone && spec.payload != Payload::kAngle;
}

/// Returns the count of values that follow a box in its tensor and are read with it.
size_t values_after_box(const DetectorSpec& spec) {
  const bool here = spec.reader == Reader::kSplit && count_of(spec, Role::kKeypoints) == 0;
  return has_values(spec) && here ? spec.payload_count : 0;
}

/// Returns the number of values per anchor that decoding reads.
size_t min_numbers(const DetectorSpec& spec, Role role) {
  switch (role) {
    case Role::kBoxes: return channels_of(spec, TensorRule{.role = role}) + values_after_box(spec);
    case Role::kSizes: return 2;
    case Role::kScores: return 1 + spec.background_count();
    case Role::kAll:
    case Role::kObjectness:
    case Role::kClasses:
    case Role::kCount:
    case Role::kIndices:
    case Role::kKeypoints:
    case Role::kUnread: break;
  }
  return 1;
}

Found check_tensors(const DetectorSpec& spec) {
  if (auto found = check_roles(spec)) return found;
  const auto nameless = [](const TensorRule& rule) {
    return rule.ids[0].empty() && rule.plain[0].empty();
  };
  for (size_t i = 0; i < spec.tensor_count; ++i) {
    const TensorRule& rule = spec.tensors[i];
    const size_t minimum = min_numbers(spec, rule.role);
    const bool required = rule.role == Role::kBoxes && values_after_box(spec) != 0;
    if ((required || rule.channels != 0) && (rule.channels < minimum || rule.role == Role::kAll))
      return fault_of(i, "channels",
                      rule.role == Role::kAll
                          ? "0, because the columns define it"
                          : (required ? "at least " : "0, or at least ") + std::to_string(minimum),
                      std::to_string(rule.channels));
    if (rule.has_scale() && spec.tensor_count > 1 && nameless(rule))
      return fault_of(i, "ids", "ids or names for a tensor with a scale or zero point", "none");
  }
  return {};
}

bool has_planes(const DetectorSpec& spec) {
  return spec.reader == Reader::kDense || spec.reader == Reader::kSplit;
}

Found check_coding(const DetectorSpec& spec) {
  const CodingTraits coding = traits_of(spec.coding);
  const bool cells = coding.cells || spec.peaks;
  if (!has_planes(spec) && (cells || coding.priors))
    return fault("coding", "center-size, corners or top-left-size, and no peaks, with this reader",
                 "another coding, or peaks");
  if (coding.bins != (spec.bins > 1))
    return fault("bins", "2 or more with coding=distance-bins, 1 with others",
                 std::to_string(spec.bins));
  if (spec.bins > 1 && count_of(spec, Role::kSizes) != 0)
    return fault("bins", "1 if a tensor has the sizes", std::to_string(spec.bins));
  if (spec.xy_scales[0] != 0 && spec.coding != BoxCoding::kGridDarknet)
    return fault("xy-scales", "none unless coding=grid-darknet", "values");
  if (spec.delta_limit != 0 && !coding.priors)
    return fault("delta-limit", "0 unless coding=prior-delta", "another value");
  if (cells && spec.level_count() == 0)
    return fault("strides", "strides, which this coding requires", "none");
  if (spec.min_levels > spec.level_count())
    return fault("min-levels",
                 "at most the number of strides, " + std::to_string(spec.level_count()),
                 std::to_string(spec.min_levels));
  if (spec.min_levels != 0 && spec.anchors.given())
    return fault("min-levels", "0 with anchor sizes", std::to_string(spec.min_levels));
  return {};
}

Found check_scores(const DetectorSpec& spec) {
  const bool has_objectness =
      spec.columns.objectness >= 0 || std::ranges::any_of(spec.rules(), [](const TensorRule& rule) {
        return rule.role == Role::kObjectness && !rule.optional;
      });
  if (spec.score != ScoreRule::kClass && !has_objectness)
    return fault("score-rule", "class, because there is no objectness", "another rule");
  if (spec.activation == Activation::kSoftmax && spec.score != ScoreRule::kClass)
    return fault("score-rule", "class with activation=softmax", "another rule");
  if (spec.peaks && (spec.score != ScoreRule::kClass || spec.activation == Activation::kSoftmax))
    return fault("peaks", "false unless score-rule=class, without softmax", "true");
  if (!has_planes(spec) && spec.score != ScoreRule::kClass)
    return fault("score-rule", "class with this reader", "another rule");
  if (spec.payload == Payload::kNone && spec.payload_count != 0 && spec.reader == Reader::kDense)
    return fault("payload-count", "0 with payload=none", std::to_string(spec.payload_count));
  return {};
}

size_t all_anchors(const DetectorSpec& spec) {
  size_t count = 0;
  for (size_t level = 0; level < spec.level_count(); ++level) count += spec.anchors_of(level);
  return count;
}

/// Checks anchors that are made of scales and ratios.
Found check_made(const DetectorSpec& spec) {
  const AnchorRule& rule = spec.anchors;
  const size_t made = rule.scales.size() * rule.ratios.size();
  for (size_t level = 0; level < spec.level_count(); ++level)
    if (made != spec.anchors_of(level))
      return fault("cell-anchors", std::to_string(made) + " (anchor-scales times anchor-ratios)",
                   std::to_string(spec.anchors_of(level)));
  return {};
}

Fault few_sizes(size_t anchors, const AnchorRule& rule) {
  return fault("anchor-sizes", std::to_string(anchors) + " sizes, one per anchor of cell-anchors",
               std::to_string(rule.sizes.size()));
}

Found check_anchors(const DetectorSpec& spec) {
  const AnchorRule& rule = spec.anchors;
  const bool boxes = traits_of(spec.coding).sizes, deltas = traits_of(spec.coding).priors;
  const size_t anchors = all_anchors(spec);
  if (rule.given() && !boxes && !deltas)
    return fault("coding", "a coding with anchors: grid-sigmoid, grid-darknet or prior-delta",
                 "another coding");
  if (boxes && rule.sizes.size() != anchors) return few_sizes(anchors, rule);
  if (!deltas) return {};
  if (!rule.given() && !spec.priors)
    return fault("anchor-sizes", "anchor-sizes, anchor-base or priors=true with coding=prior-delta",
                 "none");
  if (rule.given() && spec.level_count() == 0)
    return fault("strides", "strides, which anchors require", "none");
  if (!rule.sizes.empty() && rule.sizes.size() != anchors) return few_sizes(anchors, rule);
  return rule.given() && rule.sizes.empty() ? check_made(spec) : Found();
}

/// Checks the payload's column; the rest of a row from there on is payload, however short.
Found check_payload_column(const DetectorSpec& spec) {
  const int column = spec.columns.payload, minimum = static_cast<int>(min_channels(spec));
  if (spec.reader == Reader::kReady && column > minimum)
    return fault("payload-column", "at most " + std::to_string(minimum), std::to_string(column));
  if (spec.reader == Reader::kDense && column >= 0 &&
      column + spec.payload_count > spec.columns.classes)
    return fault("payload-column",
                 "none, or a column whose " + std::to_string(spec.payload_count) +
                     " values end before the class scores",
                 std::to_string(column));
  return {};
}

/// Checks what boxes have in addition to their corners.
Found check_payload(const DetectorSpec& spec) {
  const bool points = spec.payload == Payload::kKeypoints;
  const int8_t column = spec.columns.payload;
  if (column >= 0 && !has_values(spec))
    return fault("payload-column", "none with payload=none or payload=angle", column_text(column));
  if (has_values(spec) && spec.reader == Reader::kReady && column < 0)
    return fault("payload-column", "the first column of the payload with reader=ready", "none");
  if (auto found = check_payload_column(spec)) return found;
  if (count_of(spec, Role::kKeypoints) != 0 && !points)
    return fault("payload", "keypoints if a tensor has keypoints", "another payload");
  const PointRule& rule = spec.points;
  if (rule.values == 1) return fault("point-numbers", "2 or 3, or 0", "1");
  if (!points) return {};
  const bool from_cells =
      rule.coding == PointCoding::kCells || rule.coding == PointCoding::kCellPixels;
  if (from_cells && !has_cells(spec.coding))
    return fault("point-coding", "box unless the box coding has cells", "a coding from cells");
  if (rule.coding == PointCoding::kPriorDelta && !traits_of(spec.coding).priors)
    return fault("point-coding", "prior-delta only with coding=prior-delta", "prior-delta");
  return {};
}

}  // namespace

std::optional<Fault> find_fault(const DetectorSpec& spec) {
  for (const auto check :
       {check_tensors, check_columns, check_coding, check_scores, check_anchors, check_payload})
    if (auto found = check(spec)) return found;
  return {};
}

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
