// SPDX-License-Identifier: LGPL-2.1-or-later
// Colours of boxes, and trails of tracks.
#include "gst/overlay/colors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gst/base/props.h"

namespace keepbox {
namespace {

// First the colours of Okabe and Ito ("Color Universal Design", 2008), ordered so that neighbours
// are far apart, with white in place of black, which is invisible in dark scenes. The others come
// from a search: neighbours, and colours eight apart, are far from each other in OKLab under normal
// vision, protanopia, deuteranopia and tritanopia; all differ under normal vision.
constexpr std::array kPalette{
    rgb(0xe69f00), rgb(0x56b4e9), rgb(0xd55e00), rgb(0x0072b2), rgb(0xf0e442), rgb(0x009e73),
    rgb(0xffffff), rgb(0xcc79a7), rgb(0xc8ff28), rgb(0x007878), rgb(0xffa0a0), rgb(0xa02800),
    rgb(0xa078ff), rgb(0xc8ffc8), rgb(0x7828a0), rgb(0xc8c800), rgb(0xc828a0), rgb(0xffa0ff),
    rgb(0x7850c8), rgb(0xa0a0ff), rgb(0xff7828), rgb(0x2878ff), rgb(0x28ff00), rgb(0x0028f0),
    rgb(0x28c8c8), rgb(0x007828), rgb(0xf078f0), rgb(0x50ffa0), rgb(0xa050a0), rgb(0x50f0f0),
    rgb(0xff00ff), rgb(0xa00078)};

// Distance in the palette between the first colours of successive models.
constexpr uint32_t kModelStep = 8;
constexpr uint32_t kModelsARound = kPalette.size() / kModelStep;

// FNV's basis, shifted so that common labels (person, car, dog, ...) get colours far apart.
constexpr uint32_t kHashBasis = 2168873293u;

}  // namespace

std::span<const Rgb> palette() { return kPalette; }

uint32_t number_of(std::string_view label) {
  uint32_t hash = kHashBasis;
  for (const char c : label) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193u;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;  // FNV's low bits are not well mixed
  return hash ^ (hash >> 13);
}

Rgb text_color(Rgb background) {
  const auto linear = [](uint8_t v) { return std::pow(v / 255.0, 2.2); };
  const auto [r, g, b] = background;
  const double luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  return luminance > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};  // equal contrast with both
}

GType color_by_type() {
  static const GType type = register_enum(
      "KeepboxColorBy",
      {{static_cast<int>(ColorBy::kClass), "class",
        "One colour per class, by its number or else by its name; classes of a second model get "
        "different colours"},
       {static_cast<int>(ColorBy::kTrackingId), "tracking-id",
        "One colour per tracked object; grey for boxes without a tracking id"},
       {static_cast<int>(ColorBy::kModel), "model", "One colour per model on the frame"}});
  return type;
}

uint32_t Colors::number_of_model(GQuark model) {
  const auto found = std::ranges::find(models_, model);
  const auto number = static_cast<uint32_t>(found - models_.begin());
  if (found == models_.end()) models_.push_back(model);
  return number;
}

Rgb Colors::of(const FrameBox& box, ColorBy by) {
  const auto color = [](uint64_t number) { return kPalette[number % kPalette.size()]; };
  // Always computed, so that a change of `by` does not renumber models.
  const uint32_t model = number_of_model(box.model);
  if (by == ColorBy::kModel) return color(model);
  const uint64_t shift = model * kModelStep + model / kModelsARound;
  if (by == ColorBy::kTrackingId)
    return box.tracking_id ? color(*box.tracking_id + shift) : kUntracked;
  const char* label = g_quark_to_string(box.label);
  const uint64_t number = box.class_id ? *box.class_id : number_of(label != nullptr ? label : "");
  return color(number + shift);
}

void Trails::forget(GstClockTime time, GstClockTime length) {
  for (auto& [object, trail] : trails_) {
    while (!trail.empty() && trail.back().time > time) trail.pop_back();
    while (!trail.empty() && trail.front().time + length < time) trail.pop_front();
  }
  std::erase_if(trails_, [](const auto& each) { return each.second.empty(); });
}

void Trails::add(std::span<const FrameBox> boxes, GstClockTime time, GstClockTime length) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return;
  forget(time, length);
  for (const FrameBox& box : boxes) {
    const auto object = key_of(box);
    if (!object) continue;
    const TrailPoint at{(box.box.x1 + box.box.x2) / 2, (box.box.y1 + box.box.y2) / 2};
    if (!std::isfinite(at.x) || !std::isfinite(at.y)) continue;
    if (trails_.size() >= kMaxTrails && !trails_.contains(*object)) continue;
    auto& trail = trails_[*object];
    if (!trail.empty() && trail.back().time == time) trail.pop_back();
    trail.push_back({time, at});
    if (trail.size() > kMaxPoints) trail.pop_front();
  }
}

std::vector<TrailPoint> Trails::of(const FrameBox& box) const {
  std::vector<TrailPoint> out;
  const auto object = key_of(box);
  if (!object) return out;
  const auto found = trails_.find(*object);
  if (found == trails_.end()) return out;
  for (const Entry& entry : found->second) out.push_back(entry.at);
  return out;
}

}  // namespace keepbox
