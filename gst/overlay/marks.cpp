// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes captions in the characters of the font.
#include "gst/overlay/marks.h"

#include <cmath>
#include <format>
#include <limits>
#include <string>

namespace keepbox {
namespace {

/// Converts a text to ASCII, the only characters of the font.
std::string ascii(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  g_autofree gchar* plain = g_str_to_ascii(valid, "C");
  return plain;
}

std::string caption(const FrameBox& box, const char* label, const OverlayProps& props) {
  std::string text;
  const auto add = [&text](const std::string& word) {
    if (!text.empty() && !word.empty()) text += ' ';
    text += word;
  };
  if (props.draw_labels) add(ascii(label));
  if (props.draw_tracking_ids && box.tracking_id) add(std::format("#{}", *box.tracking_id));
  if (props.draw_scores && std::isfinite(box.score)) add(std::format("{:.2f}", box.score));
  if (!props.draw_attributes) return text;
  for (const BoxLabel& each : box.labels)
    if (each.text != label || !props.draw_labels) add(ascii(each.text));
  return text;
}

}  // namespace

Mark mark_of(const FrameBox& box, const OverlayProps& props, Colors& colors, const Trails& trails) {
  const char* quark = g_quark_to_string(box.label);
  const Rgb own = colors.of(box, static_cast<ColorBy>(props.color_by));
  return {.box = box.box,
          .angle = box.angle,
          .score = std::isnan(box.score) ? -std::numeric_limits<float>::infinity() : box.score,
          .color = props.color != 0 ? rgb(props.color) : own,
          .text = caption(box, quark != nullptr ? quark : "", props),
          .points = props.draw_keypoints ? box.points : FramePoints{},
          .mask = props.draw_masks ? box.mask : FrameMask{},
          .trail = trails.of(box)};
}

}  // namespace keepbox
