// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes as applications read them.
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "gst/api/keepbox.h"
#include "gst/metas/analytics.h"

struct _KeepboxBox {
  keepbox::FrameBox box;
};

namespace keepbox {
namespace {

// g_free() frees them, and an array of pointers lies in front of them.
static_assert(std::is_trivially_destructible_v<KeepboxBox>);
static_assert(sizeof(KeepboxBox*) % alignof(KeepboxBox) == 0);

std::vector<FrameBox> boxes_of(GstBuffer* buffer) {
  std::vector<FrameBox> found;
  if (GST_IS_BUFFER(buffer)) read_boxes(buffer, found);
  return found;
}

gint number(std::optional<uint32_t> value) { return value ? static_cast<gint>(*value) : -1; }

}  // namespace
}  // namespace keepbox

using namespace keepbox;

G_DEFINE_BOXED_TYPE(KeepboxBox, keepbox_box, keepbox_box_copy, keepbox_box_free)

KeepboxBox** keepbox_buffer_get_boxes(GstBuffer* buffer, guint* n_boxes) {
  g_return_val_if_fail(n_boxes != nullptr, nullptr);
  const std::vector<FrameBox> found = boxes_of(buffer);
  *n_boxes = static_cast<guint>(found.size());
  if (found.empty()) return nullptr;
  auto** out =
      static_cast<KeepboxBox**>(g_malloc_n(found.size(), sizeof(KeepboxBox*) + sizeof(KeepboxBox)));
  auto* place = reinterpret_cast<KeepboxBox*>(out + found.size());
  for (size_t i = 0; i < found.size(); ++i)
    out[i] = std::construct_at(place + i, KeepboxBox{found[i]});
  return out;
}

KeepboxBox** keepbox_buffer_dup_boxes(GstBuffer* buffer, guint* n_boxes) {
  g_return_val_if_fail(n_boxes != nullptr, nullptr);
  const std::vector<FrameBox> found = boxes_of(buffer);
  *n_boxes = static_cast<guint>(found.size());
  auto** out = g_new(KeepboxBox*, found.size());
  for (size_t i = 0; i < found.size(); ++i) out[i] = new KeepboxBox{found[i]};
  return out;
}

KeepboxBox* keepbox_box_copy(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return new KeepboxBox(*box);
}

void keepbox_box_free(KeepboxBox* box) { delete box; }

void keepbox_box_get_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                          gfloat* height) {
  g_return_if_fail(box != nullptr);
  const Box& edges = box->box.box;
  if (x != nullptr) *x = edges.x1;
  if (y != nullptr) *y = edges.y1;
  if (width != nullptr) *width = edges.x2 - edges.x1;
  if (height != nullptr) *height = edges.y2 - edges.y1;
}

gfloat keepbox_box_get_angle(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, 0);
  return box->box.angle;
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

gboolean keepbox_box_get_tracking_id(const KeepboxBox* box, guint64* id) {
  g_return_val_if_fail(box != nullptr, FALSE);
  if (id != nullptr) *id = box->box.tracking_id.value_or(0);
  return box->box.tracking_id.has_value();
}
