// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws boxes of an input.
#include "tests/fuzz/drawnboxes.h"

#include "tests/fuzz/damage.h"

namespace keepbox::fuzz {
namespace {

Box any_box(Input& input, Size frame) {
  return {any_place(input, frame.width), any_place(input, frame.height),
          any_place(input, frame.width), any_place(input, frame.height)};
}

/// Returns the area that shows a mask's pixels one to one, or any other area.
Box any_mask_place(Input& input, uint32_t width, uint32_t height, const Box& box) {
  if (input.chance(40)) return box;
  const auto x = static_cast<float>(input.below(64)) - 16,
             y = static_cast<float>(input.below(64)) - 16;
  return {x, y, x + static_cast<float>(width), y + static_cast<float>(height)};
}

}  // namespace

float any_place(Input& input, uint32_t side) {
  if (input.chance(6)) return input.number();
  const auto steps = static_cast<float>(input.below(4 * side + 1));
  return steps / 2 - static_cast<float>(side) / 2;
}

GQuark any_quark(Input& input) {
  const std::string name = any_name(input);
  return name.empty() ? 0 : g_quark_from_string(name.c_str());
}

DrawnBoxes::DrawnBoxes(Input& input, uint32_t most, Size frame) {
  for (uint32_t i = input.below(most + 1); i > 0; --i) boxes.push_back(draw(input, frame));
}

FrameBox DrawnBoxes::draw(Input& input, Size frame) {
  FrameBox box{.box = any_box(input, frame), .score = input.number(), .label = any_quark(input)};
  if (input.chance(30)) box.angle = input.number();
  if (input.chance(60)) box.class_id = input.chance(90) ? input.below(90) : input.below(UINT32_MAX);
  if (input.chance(50)) box.anchor = input.below(UINT32_MAX);
  if (input.chance(30)) box.tracking_id = guint64{input.below(UINT32_MAX)} << input.below(33);
  if (input.chance(30)) box.model = any_quark(input);
  box.unnamed = input.chance(20);
  box.od_id = input.below(100);
  if (input.chance(25)) draw_points(input, frame, box.keypoints);
  if (input.chance(30)) draw_mask(input, box.box, box.mask);
  return box;
}

void DrawnBoxes::draw_points(Input& input, Size frame, FrameKeypoints& out) {
  auto& points = points_.emplace_back(input.between(1, 18));
  for (Keypoint& point : points)
    point = {any_place(input, frame.width), any_place(input, frame.height), input.number()};
  auto& edges = edges_.emplace_back(input.below(8));
  for (Edge& edge : edges)
    edge = {static_cast<uint8_t>(input.below(static_cast<uint32_t>(points.size()))),
            static_cast<uint8_t>(input.below(static_cast<uint32_t>(points.size())))};
  out = {points, edges, any_quark(input)};
}

void DrawnBoxes::draw_mask(Input& input, const Box& box, FrameMask& out) {
  const guint width = input.between(1, 24), height = input.between(1, 24);
  const uint32_t part = input.between(1, 8), seed = input.below(1 << 16);
  const auto& mask = masks_.emplace_back(
      width, height,
      [&](guint x, guint y) {
        return ((x / part * 7 + y / part * 13 + seed) * 2654435761u >> 28) % 3 == 0;
      },
      input.below(4));
  out = mask.over(any_mask_place(input, width, height, box));
  if (!input.chance(3)) return;
  gst_buffer_get_video_meta(mask.buffer())->height += 1;  // more rows than there are
}

}  // namespace keepbox::fuzz
