// SPDX-License-Identifier: LGPL-2.1-or-later
// Implements the boxes of the C API.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "gst/api/keepbox.h"
#include "gst/metas/masks.h"
#include "gst/metas/objecttensors.h"
#include "gst/metas/readboxes.h"

namespace keepbox {

/// A tensor of a box's object as floats.
struct BoxTensor {
  GQuark name = 0, model = 0;
  std::span<const float> values{};
};

}  // namespace keepbox

/// A box; its tensors, points, edges, labels and mask follow it in the same allocation.
struct _KeepboxBox {
  keepbox::FrameBox box;  // with its own points and edges, and no buffer
  const guint8* mask;     // rows without gaps, or nullptr
  guint mask_width, mask_height;
  std::span<const keepbox::BoxTensor> tensors{};
};

namespace keepbox {
namespace {

// g_free() frees them, together with the array of pointers before them.
static_assert(std::is_trivially_destructible_v<KeepboxBox>);
static_assert(sizeof(KeepboxBox*) % alignof(KeepboxBox) == 0);
static_assert(sizeof(KeepboxBox) % alignof(Keypoint) == 0);
static_assert(alignof(BoxTensor) <= alignof(KeepboxBox));
// Applications get keypoints and edges as arrays of numbers.
static_assert(sizeof(Keypoint) == 3 * sizeof(gfloat) && sizeof(Edge) == 2 * sizeof(guint8));

/// A box to copy, with its mask mapped.
struct Source {
  FrameBox box;
  const guint8* mask = nullptr;
  gsize stride = 0;
  guint width = 0, height = 0;
  std::span<const BoxTensor> tensors{};

  gsize tensor_bytes() const {
    gsize bytes = tensors.size_bytes();
    for (const BoxTensor& each : tensors) bytes += each.values.size_bytes();
    return bytes;
  }
  gsize mask_bytes() const { return gsize{width} * height; }
  gsize text_bytes() const {
    gsize bytes = 0;
    for (const BoxLabel& label : box.labels) bytes += label.text.size() + 1;
    return bytes;
  }
  gsize bytes() const {  // up to where another box may start
    const gsize bytes = sizeof(KeepboxBox) + box.points.points.size_bytes() +
                        box.points.edges.size_bytes() + box.values.values.size_bytes() +
                        tensor_bytes() + text_bytes() + mask_bytes();
    return (bytes + alignof(KeepboxBox) - 1) / alignof(KeepboxBox) * alignof(KeepboxBox);
  }
};

Source source_of(const FrameBox& box, const MaskView& mask) {
  if (!mask) return {.box = box};
  return {box, mask.row(0), mask.height() > 1 ? static_cast<gsize>(mask.row(1) - mask.row(0)) : 0,
          mask.width(), mask.height()};
}

Source source_of(const KeepboxBox& box) {
  return {box.box, box.mask, box.mask_width, box.mask_width, box.mask_height, box.tensors};
}

template <class T>
std::span<const T> copied(std::span<const T> from, guint8*& next) {
  auto* to = reinterpret_cast<T*>(next);
  std::ranges::uninitialized_copy(from, std::span(to, from.size()));
  next += from.size_bytes();
  return {to, from.size()};
}

/// @param place memory of source.bytes().
KeepboxBox* place_box(guint8* place, const Source& source) {
  auto* out = std::construct_at(reinterpret_cast<KeepboxBox*>(place),
                                KeepboxBox{source.box, nullptr, source.width, source.height});
  guint8* next = place + sizeof(KeepboxBox);
  const std::span tensors(reinterpret_cast<BoxTensor*>(next), source.tensors.size());
  out->tensors = copied(source.tensors, next);
  for (BoxTensor& each : tensors) each.values = copied(each.values, next);
  out->box.points.points = copied(source.box.points.points, next);
  out->box.values.values = copied(source.box.values.values, next);
  out->box.points.edges = copied(source.box.points.edges, next);
  for (BoxLabel& label : out->box.labels) {  // texts end with a zero byte for applications
    const std::string_view text = label.text;
    label.text = {reinterpret_cast<char*>(next), text.size()};
    next = std::ranges::copy(text, next).out;
    *next++ = 0;
  }
  out->box.mask.pixels = nullptr;
  if (source.mask == nullptr) return out;
  out->mask = next;
  for (guint y = 0; y < source.height; ++y, next += source.width)
    std::memcpy(next, source.mask + y * source.stride, source.width);
  return out;
}

KeepboxBox* new_box(const Source& source) {
  return place_box(static_cast<guint8*>(g_malloc(source.bytes())), source);
}

/// The boxes of a buffer with all of their data, mapped for the lifetime of this object.
class Boxes {
 public:
  explicit Boxes(GstBuffer* buffer) {
    std::vector<FrameBox> found;
    if (!GST_IS_BUFFER(buffer) || !read_boxes(buffer, found, &points_)) return;
    for (const FrameBox& box : found)
      sources_.push_back(source_of(box, masks_.emplace_back(box.mask.pixels)));
    read_tensors(buffer);
  }
  const std::vector<Source>& sources() const { return sources_; }
  guint count() const { return static_cast<guint>(sources_.size()); }
  gsize bytes() const {
    gsize out = 0;
    for (const Source& source : sources_) out += source.bytes();
    return out;
  }

 private:
  /// Adds the tensors of the objects; none if they cannot be read.
  void read_tensors(GstBuffer* buffer) {
    const auto found = read_object_tensors(buffer);
    if (!found) return;
    for (Source& source : sources_) {
      std::vector<BoxTensor> own;
      for (const ObjectTensor& each :
           std::ranges::equal_range(*found, source.box.od_id, {}, &ObjectTensor::od_id))
        own.push_back(tensor_of(each));
      if (!own.empty()) source.tensors = tensors_.emplace_back(std::move(own));
    }
  }

  BoxTensor tensor_of(const ObjectTensor& tensor) {
    const TensorView view = tensor.view();
    std::vector<float>& values = values_.emplace_back(view.shape.count().value_or(0));
    for (size_t i = 0; i < values.size(); ++i) values[i] = load(view, i);
    const auto quark = [](const std::string& name) {
      return name.empty() ? 0 : g_quark_from_string(name.c_str());
    };
    return {quark(tensor.id), quark(tensor.model), values};
  }

  std::deque<std::vector<float>> values_;
  std::deque<std::vector<BoxTensor>> tensors_;
  PointStore points_;
  std::deque<MaskView> masks_;
  std::vector<Source> sources_;
};

void put_rect(const Box& edges, gfloat* x, gfloat* y, gfloat* width, gfloat* height) {
  if (x != nullptr) *x = edges.x1;
  if (y != nullptr) *y = edges.y1;
  if (width != nullptr) *width = edges.x2 - edges.x1;
  if (height != nullptr) *height = edges.y2 - edges.y1;
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
  for (const Source& source : boxes.sources()) {
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
  const bool there = index < box->box.labels.size();
  const BoxLabel label = there ? box->box.labels[index] : BoxLabel{};
  if (name != nullptr) *name = g_quark_to_string(label.attribute);
  if (level != nullptr) *level = label.level;
  return label.text.data();
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
  const auto points = box->box.points.points;
  *n_values = 3 * points.size();
  return points.empty() ? nullptr : &points.data()->x;
}

const gchar* keepbox_box_get_points_name(const KeepboxBox* box) {
  g_return_val_if_fail(box != nullptr, nullptr);
  return g_quark_to_string(box->box.points.name);
}

const guint8* keepbox_box_get_edges(const KeepboxBox* box, gsize* n_values) {
  g_return_val_if_fail(box != nullptr && n_values != nullptr, nullptr);
  const auto edges = box->box.points.edges;
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
