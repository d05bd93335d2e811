// SPDX-License-Identifier: LGPL-2.1-or-later
// Fits rows and planes: which dimension is that of anchors, and the column of each field.
#include "core/recognition/fit_table.h"

#include <algorithm>
#include <optional>

#include "core/formula/box.h"
#include "core/recognition/channels.h"
#include "core/recognition/family_text.h"
#include "core/recognition/fit_errors.h"
#include "core/recognition/grid.h"

namespace keepbox {
namespace {

/// True if end-to-end rows may have that many columns, with a payload.
bool may_have_payload(size_t channels, const DetectorSpec& spec) {
  const size_t before = min_channels(spec) - spec.payload_count;
  return spec.payload != Payload::kNone && spec.payload != Payload::kAngle && channels > before &&
         may_be_payload(channels - before, spec.payload);
}

/// True if anchors may have that many channels.
bool may_be_channels(size_t channels, const DetectorSpec& spec) {
  const size_t needed = min_channels(spec);
  if (spec.reader == Reader::kReady) return channels == needed || may_have_payload(channels, spec);
  return channels >= needed && channels - needed < kMaxClasses;
}

/// True if the first of two dimensions is that of anchors and the second that of channels. A
/// dimension that cannot be channels is anchors; then one that equals the frame's grid; then the
/// longer one.
bool first_is_anchors(size_t a, size_t b, const DetectorSpec& spec, Size frame) {
  if (may_be_channels(a, spec) != may_be_channels(b, spec)) return may_be_channels(b, spec);
  const bool a_cells = is_grid(a, frame, spec), b_cells = is_grid(b, frame, spec);
  if (a_cells != b_cells) return a_cells;
  return a >= b;
}

Field column(const Field& base, int channel) {
  if (channel < 0) return {};
  Field field = base;
  field.offset += static_cast<size_t>(channel) * base.channel_stride;
  return field;
}

/// True if all fields fit in a row of that many channels.
bool within(const DetectorSpec& spec, size_t channels) {
  const auto fits = [&](int first, size_t count) {
    return first < 0 || static_cast<size_t>(first) + count <= channels;
  };
  const auto& columns = spec.columns;
  if (!fits(columns.box_last ? -1 : columns.box, size_t{4} * spec.bins)) return false;
  if (!fits(columns.objectness, 1) || !fits(columns.payload, 1)) return false;
  if (spec.reader != Reader::kReady) return true;
  const bool oriented = spec.payload == Payload::kAngle;
  return fits(columns.score, 1) && fits(columns.class_id, 1) && fits(columns.image, 1) &&
         fits(oriented ? columns.angle : -1, 1);
}

/// Sets the fields of a table whose classes and payload are counted. @param base its first column.
void set_columns(Layout& layout, const Field& base, size_t channels) {
  const DetectorSpec& spec = *layout.spec;
  const bool ready = spec.reader == Reader::kReady;
  // check_limits() rejects more classes, but the columns after them might overflow an int
  const auto classes = static_cast<int>(std::min(layout.classes, kMaxClasses));
  layout[FieldId::kBox] =
      column(base, spec.columns.box_last ? spec.columns.classes + classes : spec.columns.box);
  layout[FieldId::kObjectness] = column(base, spec.columns.objectness);
  layout[FieldId::kScores] = column(base, spec.columns.classes);
  layout[FieldId::kScore] = column(base, spec.columns.score);
  layout[FieldId::kClassId] = column(base, spec.columns.class_id);
  layout[FieldId::kImage] = column(base, spec.columns.image);
  if (layout.payload_count != 0)
    layout[FieldId::kPayload] = column(layout[FieldId::kScores], classes);
  if (spec.columns.payload >= 0) {
    layout[FieldId::kPayload] = column(base, spec.columns.payload);
    layout.payload_count =
        ready ? narrow(channels) - static_cast<uint32_t>(spec.columns.payload) : spec.payload_count;
  }
  layout[FieldId::kAngle] = spec.payload != Payload::kAngle ? Field{}
                            : ready                         ? column(base, spec.columns.angle)
                                                            : layout[FieldId::kPayload];
}

}  // namespace

Result<Layout> fit_table(const DetectorSpec& spec, std::span<const TensorView> tensors,
                         size_t index, const Request& request) {
  const TensorView& tensor = tensors[index];
  const auto dims = batched(tensor.shape, 2);
  if (!dims || !is_real(tensor)) return mismatch(spec, tensors, request);
  const size_t a = dims->dims[0], b = dims->dims[1];
  const bool ready = spec.reader == Reader::kReady;
  const bool rows = ready || first_is_anchors(a, b, spec, request.frame);
  const size_t anchors = rows ? a : b, channels = rows ? b : a;
  const size_t needed = min_channels(spec);
  const bool enough =
      ready ? channels == needed || may_have_payload(channels, spec) : channels >= needed;
  if (!enough || !within(spec, channels)) return mismatch(spec, tensors, request);

  Layout layout{.spec = &spec,
                .images = narrow(dims->images),
                .anchors = narrow(anchors),
                .levels = levels_of(anchors, request.frame, spec)};
  const Field base{.tensor = static_cast<int>(index),
                   .anchor_stride = rows ? channels : 1,
                   .channel_stride = rows ? 1 : anchors,
                   .image_stride = anchors * channels};
  layout.segments[0].count = layout.anchors;
  if (!ready) {
    const size_t values = channels - channels_besides_classes(spec);
    const auto payload = payload_of(spec, values, tensors, request);
    if (!payload) return no_payload(spec, tensor, request);
    layout.classes = narrow(values - *payload);
    layout.payload_count = narrow(*payload);
  }
  set_columns(layout, base, channels);
  return layout;
}

}  // namespace keepbox
