// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors for tests, and functions that decode them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"
#include "core/run/processor.h"

namespace keepbox::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A tensor that owns its numbers, or their representation in another type.
struct Tensor {
  std::vector<float> values;
  Shape shape;
  std::string id;
  DataType type = DataType::kFloat32;
  std::vector<std::byte> raw;  // instead of values for types other than float32
  float scale = 1, zero_point = 0;

  TensorView view() const {
    const bool plain = type == DataType::kFloat32;
    return {.id = id,
            .data = plain ? static_cast<const void*>(values.data()) : raw.data(),
            .bytes = plain ? values.size() * sizeof(float) : raw.size(),
            .type = type,
            .shape = shape,
            .scale = scale,
            .zero_point = zero_point};
  }
};

/// An end-to-end row: x1 y1 x2 y2 score class.
struct Row {
  float x1, y1, x2, y2, score, class_id;
};

inline Tensor rows(const std::vector<Row>& rows) {
  Tensor out{.shape = {1, rows.size(), 6}, .id = "yolo-26-end2end-out"};
  for (const Row& r : rows)
    out.values.insert(out.values.end(), {r.x1, r.y1, r.x2, r.y2, r.score, r.class_id});
  return out;
}

/// An end-to-end row of a rotated box.
struct OrientedRow {
  float cx, cy, w, h, score, class_id, angle;
};

inline Tensor oriented_rows(const std::vector<OrientedRow>& rows) {
  Tensor out{.shape = {1, rows.size(), 7}, .id = "yolo-26-obb-end2end-out"};
  for (const OrientedRow& r : rows)
    out.values.insert(out.values.end(), {r.cx, r.cy, r.w, r.h, r.score, r.class_id, r.angle});
  return out;
}

/// Returns settings for boxes in pixels of a square frame.
inline Settings pixel_settings(uint32_t side = 640) {
  Settings settings;
  settings.frame.size = {side, side};
  settings.units = Units::kPixels;
  return settings;
}

/// Makes a processor for these tensors on the reference backend.
inline Result<Processor> make_processor(const Settings& settings,
                                        std::span<const TensorView> views) {
  auto plan = make_plan(settings, views);
  if (!plan) return std::unexpected(plan.error());
  auto backend = select_backend("reference", *plan, MemorySpace::kSystem);
  if (!backend) return std::unexpected(backend.error());
  return Processor::create(std::move(*plan), std::move(*backend));
}

/// Runs once and copies the boxes of the first image.
inline Result<std::vector<Detection>> detect(const Settings& settings,
                                             const std::vector<TensorView>& views) {
  auto processor = make_processor(settings, views);
  if (!processor) return std::unexpected(processor.error());
  if (auto status = processor->run(views); !status) return std::unexpected(status.error());
  const auto found = processor->detections();
  return std::vector<Detection>(found.begin(), found.end());
}

/// Returns the anchors of boxes, which identify them.
inline std::vector<uint32_t> anchors_of(std::span<const Detection> boxes) {
  std::vector<uint32_t> out;
  for (const Detection& each : boxes) out.push_back(each.anchor);
  return out;
}

}  // namespace keepbox::test
