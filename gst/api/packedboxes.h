// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of boxes with all of their data in one allocation, for box.cpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gst/api/keepbox.h"
#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/metas/objecttensors.h"

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

// g_free() frees them, together with the array of pointers before them.
static_assert(std::is_trivially_destructible_v<KeepboxBox>);
static_assert(sizeof(KeepboxBox*) % alignof(KeepboxBox) == 0);
static_assert(sizeof(KeepboxBox) % alignof(Keypoint) == 0);
static_assert(alignof(BoxTensor) <= alignof(KeepboxBox));
// Applications get keypoints and edges as arrays of numbers.
static_assert(sizeof(Keypoint) == 3 * sizeof(gfloat) && sizeof(Edge) == 2 * sizeof(guint8));

/// A box to copy, with its mask mapped.
struct CopiedBox {
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
    const gsize bytes = sizeof(KeepboxBox) + box.keypoints.points.size_bytes() +
                        box.keypoints.edges.size_bytes() + box.values.values.size_bytes() +
                        tensor_bytes() + text_bytes() + mask_bytes();
    return (bytes + alignof(KeepboxBox) - 1) / alignof(KeepboxBox) * alignof(KeepboxBox);
  }
};

inline CopiedBox source_of(const FrameBox& box, const MaskView& mask) {
  if (!mask) return {.box = box};
  return {box, mask.row(0), mask.height() > 1 ? static_cast<gsize>(mask.row(1) - mask.row(0)) : 0,
          mask.width(), mask.height()};
}

inline CopiedBox source_of(const KeepboxBox& box) {
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
inline KeepboxBox* place_box(guint8* place, const CopiedBox& source) {
  auto* out = std::construct_at(reinterpret_cast<KeepboxBox*>(place),
                                KeepboxBox{source.box, nullptr, source.width, source.height});
  guint8* next = place + sizeof(KeepboxBox);
  const std::span tensors(reinterpret_cast<BoxTensor*>(next), source.tensors.size());
  out->tensors = copied(source.tensors, next);
  for (BoxTensor& each : tensors) each.values = copied(each.values, next);
  out->box.keypoints.points = copied(source.box.keypoints.points, next);
  out->box.values.values = copied(source.box.values.values, next);
  out->box.keypoints.edges = copied(source.box.keypoints.edges, next);
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

inline KeepboxBox* new_box(const CopiedBox& source) {
  return place_box(static_cast<guint8*>(g_malloc(source.bytes())), source);
}

/// The boxes of a buffer with all of their data, mapped for the lifetime of this object.
class Boxes {
 public:
  explicit Boxes(GstBuffer* buffer) {
    std::vector<FrameBox> found;
    if (!GST_IS_BUFFER(buffer) || !read_boxes(buffer, found, &keypoints_)) return;
    for (const FrameBox& box : found)
      sources_.push_back(source_of(box, masks_.emplace_back(box.mask.pixels)));
    read_tensors(buffer);
  }
  const std::vector<CopiedBox>& sources() const { return sources_; }
  guint count() const { return static_cast<guint>(sources_.size()); }
  gsize bytes() const {
    gsize out = 0;
    for (const CopiedBox& source : sources_) out += source.bytes();
    return out;
  }

 private:
  /// Adds the tensors of the objects; none if they cannot be read.
  void read_tensors(GstBuffer* buffer) {
    const auto found = read_object_tensors(buffer);
    if (!found) return;
    for (CopiedBox& source : sources_) {
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
  KeypointStore keypoints_;
  std::deque<MaskView> masks_;
  std::vector<CopiedBox> sources_;
};

}  // namespace keepbox
