// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes that were found on a frame, from all of its images.
#include "gst/decode/boxes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "core/formula/filter.h"
#include "core/formula/oriented.h"

namespace keepbox {
namespace {

bool is_nonempty(const Mask& mask) { return mask.width != 0 && mask.height != 0; }

/// True if the mask has no pixel of its object.
bool is_blank(const Mask& mask) {
  const std::span words(mask.bits, size_t{mask.stride} * mask.height);
  return std::ranges::none_of(words, [](uint32_t each) { return each != 0; });
}

}  // namespace

void DetectedBoxes::clear() {
  boxes_.clear(), weak_.clear(), masks_.clear();
  mask_count_ = 0;
  keypoints_.clear(), values_.clear(), turned_.clear();
}

Status DetectedBoxes::add(const Processor& processor, uint32_t number, const Labels& labels,
                          const FrameBox& common, Funnel& dropped) {
  std::vector<Found> found = found_by(processor, number, labels, common, dropped);
  return take(found, processor.plan());
}

Status DetectedBoxes::add_parts(const Processor& processor, const Labels& labels,
                                const FrameBox& common, const ObjectImage& of, Size frame,
                                Funnel& dropped) {
  std::vector<Found> found = found_by(processor, 0, labels, common, dropped);
  for (Found& each : found) {
    each.box.parent = of.od_id;
    copy_payload(each.box, of);
  }
  place(found, processor.plan(), of, frame, dropped);
  return take(found, processor.plan());
}

bool DetectedBoxes::keep_best(gsize room, bool classes) {
  gsize need = 0;
  for (const FrameBox& box : boxes_) need += mtds_of(box, classes);
  if (need <= room) return false;
  std::ranges::stable_sort(boxes_, std::greater{}, &FrameBox::score);
  for (; need > room; boxes_.pop_back()) need -= mtds_of(boxes_.back(), classes);
  return true;
}

std::vector<DetectedBoxes::Found> DetectedBoxes::found_by(const Processor& processor,
                                                          uint32_t number, const Labels& labels,
                                                          const FrameBox& common, Funnel& dropped) {
  const PayloadPlan& payload = processor.plan().payload;
  const PointSet& set = payload.point_set;
  const GQuark name = set.name.empty() ? 0 : g_quark_from_string(std::string(set.name).c_str());
  const bool fixed = payload.has(Moves::kFixed);
  const GQuark kind = fixed ? g_quark_from_string(std::string(payload.kind.name).c_str()) : 0;
  const std::span<const Mask> masks = processor.masks(number);
  std::vector<Found> out;
  for (const Detection& det : processor.detections(number)) {
    const size_t i = out.size();
    auto& [box, mask] = out.emplace_back(common);
    box.box = det.box;
    box.score = det.score;
    box.angle = det.angle;
    box.label = labels.quark(det.class_id);
    box.class_id = det.class_id;
    box.anchor = det.anchor;
    if (set.count != 0)
      box.keypoints = {processor.keypoints(number).subspan(i * set.count, set.count), set.edges,
                       name};
    if (fixed)
      box.values = {processor.payload(number).subspan(i * payload.count, payload.count), kind};
    if (!masks.empty()) mask = masks[i];
  }
  if (!masks.empty() && processor.plan().rules.contract.drop_empty_masks)
    dropped.empty_masks += static_cast<uint32_t>(
        std::erase_if(out, [](const Found& each) { return is_blank(each.mask); }));
  return out;
}

void DetectedBoxes::copy_payload(FrameBox& box, const ObjectImage& of) {
  const auto& points =
      keypoints_.emplace_back(box.keypoints.points.begin(), box.keypoints.points.end());
  const auto& values = values_.emplace_back(box.values.values.begin(), box.values.values.end());
  box.keypoints.points = points, box.values.values = values;
  if (!of.turn) return;
  for (Keypoint& point : keypoints_.back()) {
    const auto to = of.turn->point(point.x, point.y);
    point.x = static_cast<float>(to.x), point.y = static_cast<float>(to.y);
  }
}

/// Maps the boxes of a rotated image to the frame, and applies the filters of the frame.
void DetectedBoxes::place(std::vector<Found>& found, const Plan& plan, const ObjectImage& of,
                          Size frame, Funnel& dropped) {
  dropped.clipped_away += static_cast<uint32_t>(std::erase_if(
      found, [&](Found& each) { return of.turn && !turn_box(each.box, *of.turn, frame); }));
  dropped.filtered_out += static_cast<uint32_t>(std::erase_if(found, [&](const Found& each) {
    return !plan.part_regions.empty() &&
           !passes_regions(around({each.box.box, each.box.angle}), frame, plan.part_rules,
                           plan.part_regions.data());
  }));
  if (!of.turn) return;
  for (Found& each : found)
    each.mask = turned_mask(each.mask, *of.turn, frame, turned_.emplace_back());
}

/// Appends the boxes, those for trackers apart, and makes the buffers of their masks.
Status DetectedBoxes::take(std::vector<Found>& found, const Plan& plan) {
  std::vector<Mask> masks;
  const size_t first = boxes_.size();
  for (const auto& [box, mask] : found) {
    const bool shown = plan.output_threshold.empty() ||
                       passes(box.score, plan.output_threshold[*box.class_id], plan.rules.contract);
    if (!shown) {
      weak_.push_back(box);
      continue;
    }
    boxes_.push_back(box);
    masks.push_back(mask);
  }
  if (std::ranges::none_of(masks, is_nonempty)) return {};
  const MaskBuffers& made = masks_.emplace_back(make_mask_buffers(masks, mask_count_));
  mask_count_ += static_cast<size_t>(std::ranges::count_if(masks, is_nonempty));
  turned_.clear();
  for (size_t i = 0; i < masks.size(); ++i) {
    boxes_[first + i].mask = made[i];
    if (is_nonempty(masks[i]) && made[i].pixels == nullptr)
      return reject(ErrorKind::kNoResource, "Not enough memory for the masks of a frame",
                    "set mask-size=prototypes, or lower max-detections=");
  }
  return {};
}

namespace {

using Point = PixelMap::Point;

/// Returns the distance in the frame between neighbouring pixels of the input.
Point step(const Point& from, const Point& to, uint32_t pixels) {
  return {(to.x - from.x) / pixels, (to.y - from.y) / pixels};
}

/// Returns a number of pixels, at least 1 and few enough for their coordinates to be exact floats.
uint32_t round_to_pixels(double length) {
  return static_cast<uint32_t>(std::clamp(std::ceil(length), 1.0, double{1 << 24}));
}

/// Returns the pixel size of a rotated mask: the mask's own, or a larger one if the area would have
/// too many pixels, as for a mask with long and narrow pixels.
double side_of(const Mask& mask, double own, const Box& area) {
  constexpr double kFew = 1 << 16, kMany = 1 << 28;
  const double max_pixels = std::clamp(4.0 * mask.width * mask.height, kFew, kMany);
  const double size = (double{area.x2} - area.x1) * (double{area.y2} - area.y1);
  return std::max(own, std::sqrt(size / max_pixels));
}

bool keeps_axes(const PixelMap& map) {
  const auto& m = map.rows();
  return (m[1] == 0 && m[3] == 0) || (m[0] == 0 && m[4] == 0);
}

/// Returns an upright box mapped to an oriented one.
OrientedBox turned(const Box& box, const PixelMap& turn) {
  const auto& m = turn.rows();
  const double width = double{box.x2} - box.x1, height = double{box.y2} - box.y1;
  const Point center = turn.point((double{box.x1} + box.x2) / 2, (double{box.y1} + box.y2) / 2);
  const Sides sides = sides_of(static_cast<float>(m[0] * width), static_cast<float>(m[3] * width),
                               static_cast<float>(m[1] * height), static_cast<float>(m[4] * height),
                               width >= height);
  const double x = sides.width / 2.0, y = sides.height / 2.0;
  return {{static_cast<float>(center.x - x), static_cast<float>(center.y - y),
           static_cast<float>(center.x + x), static_cast<float>(center.y + y)},
          sides.angle};
}

/// Returns the box enlarged to whole pixels.
Box whole(const Box& box) {
  return {std::floor(box.x1), std::floor(box.y1), std::ceil(box.x2), std::ceil(box.y2)};
}

}  // namespace

std::optional<ObjectImage> object_image(const PictureRecord& record, Size input, Size picture,
                                        Size frame) {
  const double x = double{1} * frame.width / picture.width;
  const double y = double{1} * frame.height / picture.height;
  const auto on_frame = [&](const CropPoint& at) { return Point{at.x * x, at.y * y}; };
  const Point origin = on_frame(record.origin);
  const Point across = step(origin, on_frame(record.right), input.width);
  const Point down = step(origin, on_frame(record.down), input.height);
  const double u = std::hypot(across.x, across.y), v = std::hypot(down.x, down.y);
  if (!(u > 0 && v > 0) || !std::isfinite(u + v + origin.x + origin.y)) return std::nullopt;
  ObjectImage out{.od_id = record.od_id, .image = record.image};
  if (across.y == 0 && down.x == 0 && across.x > 0 && down.y > 0) {
    out.letterbox = {frame,
                     input,
                     static_cast<float>(u),
                     static_cast<float>(v),
                     static_cast<float>(-origin.x / u),
                     static_cast<float>(-origin.y / v)};
    return out;
  }
  const Size upright{round_to_pixels(input.width * u), round_to_pixels(input.height * v)};
  out.letterbox = {upright, input, static_cast<float>(u), static_cast<float>(v), 0, 0};
  out.turn =
      PixelMap({across.x / u, down.x / v, origin.x, across.y / u, down.y / v, origin.y, 0, 0, 1});
  return out;
}

bool turn_box(FrameBox& box, const PixelMap& turn, Size frame) {
  if (box.angle != 0) {
    const OrientedBox to = turn(OrientedBox{box.box, box.angle});
    box.box = to.box, box.angle = to.angle;
  } else if (keeps_axes(turn)) {
    box.box = clip(turn(box.box), frame);
  } else {
    const OrientedBox to = turned(box.box, turn);
    box.box = to.box, box.angle = to.angle;
  }
  return !is_empty(clip(around({box.box, box.angle}), frame));
}

Mask turned_mask(const Mask& mask, const PixelMap& turn, Size frame, std::vector<uint32_t>& words) {
  const auto back = turn.inverse();
  const Box& was = mask.place;
  if (mask.width == 0 || mask.height == 0 || !back) return {};
  const double x = (double{was.x2} - was.x1) / mask.width;  // a pixel of the mask in the frame
  const double y = (double{was.y2} - was.y1) / mask.height;
  Mask out{.place = clip(whole(turn(was)), frame)};
  const Box& place = out.place;
  if (is_empty(place) || !(x > 0 && y > 0)) return {};
  const double side = side_of(mask, std::min(x, y), place);
  const auto count = [side](float low, float high) {
    return round_to_pixels((double{high} - low) / side - 1e-3);  // rounding of side
  };
  out.width = count(place.x1, place.x2), out.height = count(place.y1, place.y2);
  out.stride = (out.width + kWordPixels - 1) / kWordPixels;
  words.assign(size_t{out.stride} * out.height, 0);
  out.bits = words.data();
  for (uint32_t row = 0; row < out.height; ++row)
    for (uint32_t column = 0; column < out.width; ++column) {
      const Point from = back->point(place.x1 + (column + 0.5) * (place.x2 - place.x1) / out.width,
                                     place.y1 + (row + 0.5) * (place.y2 - place.y1) / out.height);
      const double u = (from.x - was.x1) / x, v = (from.y - was.y1) / y;
      if (u >= 0 && v >= 0 && u < mask.width && v < mask.height &&
          mask.at(static_cast<uint32_t>(u), static_cast<uint32_t>(v)))
        words[size_t{row} * out.stride + column / kWordPixels] |= 1u << column % kWordPixels;
    }
  return out;
}

}  // namespace keepbox
