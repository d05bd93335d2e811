// SPDX-License-Identifier: LGPL-2.1-or-later
// Implements the boxes of the C API.
#include <algorithm>
#include <optional>

#include "gst/api/keepbox.h"
#include "gst/api/packedboxes.h"
#include "gst/metas/labels.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {
namespace {

void put_rect(const Box& edges, gfloat* x, gfloat* y, gfloat* width, gfloat* height) {
  if (x != nullptr) *x = edges.x1;
  if (y != nullptr) *y = edges.y1;
  if (width != nullptr) *width = edges.x2 - edges.x1;
  if (height != nullptr) *height = edges.y2 - edges.y1;
}

/// Returns a result, or an empty one without text. @param name,level may be nullptr.
BoxLabel label_at(const BoxLabels& labels, guint index, const gchar** name, gfloat* level) {
  const BoxLabel label = index < labels.size() ? labels[index] : BoxLabel{};
  if (name != nullptr) *name = g_quark_to_string(label.attribute);
  if (level != nullptr) *level = label.level;
  return label;
}

gint number(std::optional<uint32_t> value) { return value ? static_cast<gint>(*value) : -1; }

}  // namespace
}  // namespace keepbox

using namespace keepbox;

G_DEFINE_BOXED_TYPE(KeepboxBox, keepbox_box, keepbox_box_copy, keepbox_box_free)

KeepboxBox** keepbox_buffer_get_boxes(GstBuffer* buffer, guint* n_boxes) {
  g_return_val_if_fail(n_boxes != nullptr, nullptr);
  const Boxes boxes(buffer);
  *n_boxes = boxes.count();
  if (*n_boxes == 0) return nullptr;
  auto** out = static_cast<KeepboxBox**>(g_malloc(*n_boxes * sizeof(KeepboxBox*) + boxes.bytes()));
  auto* place = reinterpret_cast<guint8*>(out + *n_boxes);
  KeepboxBox** next = out;
  for (const CopiedBox& source : boxes.sources()) {
    *next++ = place_box(place, source);
    place += source.bytes();
  }
  return out;
}

KeepboxBox** keepbox_buffer_dup_boxes(GstBuffer* buffer, guint* n_boxes) {
  g_return_val_if_fail(n_boxes != nullptr, nullptr);
  const Boxes boxes(buffer);
  *n_boxes = boxes.count();
  auto** out = g_new(KeepboxBox*, *n_boxes);
  std::ranges::transform(boxes.sources(), out, new_box);
  return out;
}

gboolean keepbox_buffer_is_skipped(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  return SkippedModels(buffer).any();
}

guint keepbox_buffer_get_n_attributes(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), 0);
  return static_cast<guint>(read_frame_labels(buffer).size());
}

gchar* keepbox_buffer_get_attribute(GstBuffer* buffer, guint index, const gchar** name,
                                    gfloat* level) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  const auto text = label_at(read_frame_labels(buffer), index, name, level).text;
  return text.data() == nullptr ? nullptr : g_strndup(text.data(), text.size());
}

KeepboxBox* keepbox_box_copy(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return new_box(source_of(*box));
}

void keepbox_box_free(KeepboxBox* box) { g_free(box); }

void keepbox_box_get_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                          gfloat* height) {
  g_return_if_fail(box != nullptr);
  put_rect(box->box.box, x, y, width, height);
}

gfloat keepbox_box_get_angle(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return box->box.angle;
}

gboolean keepbox_box_is_held(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, FALSE);
  return box->box.held;
}

gboolean keepbox_box_is_predicted(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, FALSE);
  return box->box.predicted;
}

gfloat keepbox_box_get_score(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return box->box.score;
}

const gchar* keepbox_box_get_label(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return g_quark_to_string(box->box.label);
}

gint keepbox_box_get_class_id(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, -1);
  return number(box->box.class_id);
}

gint keepbox_box_get_anchor(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, -1);
  return number(box->box.anchor);
}

const gchar* keepbox_box_get_model(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return g_quark_to_string(box->box.model);
}

guint keepbox_box_get_od_id(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return box->box.od_id;
}

gboolean keepbox_box_get_parent(const KeepboxBox* box, guint* od_id) {
  g_return_val_if_fail(box != nullptr, FALSE);
  if (od_id != nullptr) *od_id = box->box.parent.value_or(0);
  return box->box.parent.has_value();
}

gboolean keepbox_box_get_tracking_id(const KeepboxBox* box, guint64* id) {
  g_return_val_if_fail(box != nullptr, FALSE);
  if (id != nullptr) *id = box->box.tracking_id.value_or(0);
  return box->box.tracking_id.has_value();
}

guint keepbox_box_get_n_attributes(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return static_cast<guint>(box->box.labels.size());
}

const gchar* keepbox_box_get_attribute(const KeepboxBox* box, guint index, const gchar** name,
                                       gfloat* level) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return label_at(box->box.labels, index, name, level).text.data();
}

guint keepbox_box_get_n_tensors(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return static_cast<guint>(box->tensors.size());
}

const gfloat* keepbox_box_get_tensor(const KeepboxBox* box, guint index, const gchar** name,
                                     const gchar** model, gsize* n_values) {
  g_return_val_if_fail(box != nullptr && n_values != nullptr, nullptr);
  const BoxTensor tensor = index < box->tensors.size() ? box->tensors[index] : BoxTensor{};
  if (name != nullptr) *name = g_quark_to_string(tensor.name);
  if (model != nullptr) *model = g_quark_to_string(tensor.model);
  *n_values = tensor.values.size();
  return tensor.values.empty() ? nullptr : tensor.values.data();
}

const gfloat* keepbox_box_get_points(const KeepboxBox* box, gsize* n_values) {
  g_return_val_if_fail(box != nullptr && n_values != nullptr, nullptr);
  const auto points = box->box.keypoints.points;
  *n_values = 3 * points.size();
  return points.empty() ? nullptr : &points.data()->x;
}

const gchar* keepbox_box_get_points_name(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return g_quark_to_string(box->box.keypoints.name);
}

const guint8* keepbox_box_get_edges(const KeepboxBox* box, gsize* n_values) {
  g_return_val_if_fail(box != nullptr && n_values != nullptr, nullptr);
  const auto edges = box->box.keypoints.edges;
  *n_values = 2 * edges.size();
  return edges.empty() ? nullptr : &edges.data()->from;
}

const guint8* keepbox_box_get_mask(const KeepboxBox* box, guint* width, guint* height,
                                   gsize* stride) {
  g_return_val_if_fail(box != nullptr, nullptr);
  if (width != nullptr) *width = box->mask_width;
  if (height != nullptr) *height = box->mask_height;
  if (stride != nullptr) *stride = box->mask_width;
  return box->mask;
}

GBytes* keepbox_box_dup_mask(const KeepboxBox* box, guint* width, guint* height) {
  gsize stride = 0;
  const guint8* mask = keepbox_box_get_mask(box, width, height, &stride);
  return mask == nullptr ? nullptr : g_bytes_new(mask, stride * box->mask_height);
}

gboolean keepbox_box_get_mask_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                                   gfloat* height) {
  g_return_val_if_fail(box != nullptr, FALSE);
  put_rect(box->mask != nullptr ? box->box.mask.place : Box{}, x, y, width, height);
  return box->mask != nullptr;
}
