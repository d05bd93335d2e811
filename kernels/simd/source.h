// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of one image, read where they stand, for the templates of core/judge.h.
#pragma once

#include <hwy/cache_control.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/backend.h"
#include "core/judge.h"

namespace keepbox::simd {

/// Are the numbers float32, float16 or bfloat16, aligned and not quantised? All others are for
/// load().
inline bool plain(const TensorView& view) {
  const bool known = view.type == DataType::kFloat32 || view.type == DataType::kFloat16 ||
                     view.type == DataType::kBFloat16;
  return known && view.scale == 1 && view.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(view.data) % size_of(view.type) == 0;
}

class Source {
 public:
  const Rules& rules;
  const Tables tables;

  Source(const Plan& plan, std::span<const TensorView> tensors, uint32_t image)
      : rules(plan.rules), tables(plan.tables()) {
    for (size_t part = 0; part < kPartsRead; ++part) {
      const Field& field = plan.layout[static_cast<Part>(part)];
      if (!field.present()) continue;
      const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
      places_[part] = {&view, plain(view), size_of(view.type), field.at(image, 0),
                       field.anchor_stride, field.channel_stride};
    }
  }

  bool has(Part part) const { return place(part).view != nullptr; }

  float get(Part part, uint32_t anchor, uint32_t channel = 0) const {
    const Place& from = place(part);
    const size_t at = from.first + anchor * from.anchor_stride + channel * from.channel_stride;
    if (!from.plain) return load(*from.view, at);
    const void* data = from.view->data;
    switch (from.view->type) {
      case DataType::kFloat16: return half_to_float(static_cast<const uint16_t*>(data)[at]);
      case DataType::kBFloat16: return bfloat16_to_float(static_cast<const uint16_t*>(data)[at]);
      default: return static_cast<const float*>(data)[at];
    }
  }

  /// Fetches a box into the cache: in planes each of its numbers stands in a line of its own.
  void fetch_box(uint32_t anchor) const {
    const Place& from = place(Part::kBox);
    const auto* box = static_cast<const std::byte*>(from.view->data) +
                      (from.first + anchor * from.anchor_stride) * from.size;
    hwy::Prefetch(box);
    if (from.channel_stride == 1) return;
    for (size_t i = 1; i < 4; ++i) hwy::Prefetch(box + i * from.channel_stride * from.size);
  }

 private:
  struct Place {
    const TensorView* view = nullptr;
    bool plain = false;
    size_t size = 0;  // bytes of a number
    size_t first = 0, anchor_stride = 0, channel_stride = 0;  // numbers
  };

  const Place& place(Part part) const { return places_[static_cast<size_t>(part)]; }

  std::array<Place, kParts> places_;
};

/// The candidates of one image while they are decoded.
class Collector {
 public:
  Collector(const Source& from, std::span<Candidate> out, Funnel& funnel)
      : from_(from), out_(out), funnel_(funnel) {}

  void take(uint32_t anchor, Verdict verdict) {
    const float raw[4] = {from_.get(Part::kBox, anchor, 0), from_.get(Part::kBox, anchor, 1),
                          from_.get(Part::kBox, anchor, 2), from_.get(Part::kBox, anchor, 3)};
    Candidate candidate;
    const Outcome outcome = keepbox::take(from_, anchor, verdict, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    ++funnel_.above_threshold;
    if (outcome == Outcome::kNotFinite) ++funnel_.not_finite;
    if (outcome != Outcome::kCandidate) return;
    out_[count_++] = candidate;
    funnel_.after_class_filter = count_;
  }

  uint32_t count() const { return count_; }

 private:
  const Source& from_;
  std::span<Candidate> out_;
  Funnel& funnel_;
  uint32_t count_ = 0;
};

}  // namespace keepbox::simd
