// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole frames of the second implementation: its kernels, and boxes on the frame.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/formula/emit.h"
#include "tests/parity/second/second.h"

namespace keepbox::test {
namespace {

struct FoundImage {
  std::vector<Detection> boxes;
  Funnel funnel;
  SecondPayload payload;
};

/// True if a side is within its limits, if any.
bool fits(float size, float least, float most) {
  if (is_planted(Bug::kSizeExclusive) && size == least) return false;
  return std::clamp(size, least, std::max(least, most)) == size && !(size > most);
}

/// True if the centre, or both ends, are between two edges, by the region rule.
bool lies(float from, float to, float low, float high, RegionRule rule) {
  switch (rule) {
    case RegionRule::kInside:
      if (is_planted(Bug::kRegionInside) && to == high) return false;
      return std::min(from, low) == low && std::max(to, high) == high;
    case RegionRule::kTouch: return std::max(from, low) < std::min(to, high);
    case RegionRule::kCenter: break;
  }
  const float middle = from / 2 + to / 2;
  if (is_planted(Bug::kRegionEdge) && middle == high) return true;
  return !(middle < low) && middle < high;
}

bool lies_in_one(const Box& b, const std::vector<Region>& regions, uint32_t first, uint32_t count,
                 const Plan& plan) {
  const auto width = float(plan.letterbox.frame.width), height = float(plan.letterbox.frame.height);
  const RegionRule rule = plan.rules.regions.rule;
  for (uint32_t i = first; i < first + count; ++i) {
    Box r = regions[i].box;
    if (regions[i].fractions) r = {r.x1 * width, r.y1 * height, r.x2 * width, r.y2 * height};
    if (lies(b.x1, b.x2, r.x1, r.x2, rule) && lies(b.y1, b.y2, r.y1, r.y2, rule)) return true;
  }
  return false;
}

/// @param b on the frame; `around` may extend beyond it.
bool wanted(const Box& b, const Box& around, uint32_t id, const Plan& plan) {
  const auto& [in, out, rule] = plan.rules.regions;
  if (in != 0 && !lies_in_one(around, plan.regions, 0, in, plan)) return false;
  if (lies_in_one(around, plan.regions, in, out, plan)) return false;
  if (plan.size_limits.empty()) return true;
  const SizeLimits& limits = plan.size_limits[is_planted(Bug::kSizeOfFirst) ? 0 : id];
  return fits(b.x2 - b.x1, limits.min_width, limits.max_width) &&
         fits(b.y2 - b.y1, limits.min_height, limits.max_height);
}

Box on_frame(const Plan& plan, const Letterbox& l, const Candidate& from) {
  float x[] = {(from.box.x1 - l.pad_x) * l.scale_x, (from.box.x2 - l.pad_x) * l.scale_x};
  float y[] = {(from.box.y1 - l.pad_y) * l.scale_y, (from.box.y2 - l.pad_y) * l.scale_y};
  if (plan.rules.contract.reorder_corners) {
    if (x[0] > x[1]) std::swap(x[0], x[1]);
    if (y[0] > y[1]) std::swap(y[0], y[1]);
  }
  for (float& each : x) each = std::clamp(each, 0.0f, float(l.frame.width));
  for (float& each : y) each = std::clamp(each, 0.0f, float(l.frame.height));
  return {x[0], y[0], x[1], y[1]};
}

/// Maps an oriented box to the frame; empty if it is outside. @param around its bounding box.
Detection oriented_on_frame(const Letterbox& map, const Candidate& from, Box& around) {
  Detection out{.angle = from.angle};
  out.box = oriented_to_frame(map, from.box, out.angle);
  if (is_planted(Bug::kAngleKept)) out.angle = from.angle;
  around = around_oriented(out.box, out.angle);
  const float width = float(map.frame.width), height = float(map.frame.height);
  if (is_planted(Bug::kOrientedClipped)) {
    const auto clipped = [](float at, float most) { return std::clamp(at, 0.0f, most); };
    out.box = {clipped(out.box.x1, width), clipped(out.box.y1, height), clipped(out.box.x2, width),
               clipped(out.box.y2, height)};
  }
  const float sum = out.box.x1 * 0 + out.box.y1 * 0 + out.box.x2 * 0 + out.box.y2 * 0;
  const bool there = around.x1 < width && around.x2 > 0 && around.y1 < height && around.y2 > 0;
  if (!there || sum != 0) out.box = {};
  return out;
}

/// Stores the boxes of an image in a growing vector.
class SecondRunner final : public Runner {
 public:
  explicit SecondRunner(const Plan& plan) : images_(plan.layout.images) {}

  Status run(const Plan& plan, std::span<const TensorView> tensors, const Stop&) override {
    for (uint32_t image = 0; image < images_.size(); ++image)
      images_[image] = run(plan, tensors, image);
    return {};
  }
  Status retune(const Plan&) override { return {}; }
  std::span<const Detection> detections(uint32_t image) const override {
    return images_[image].boxes;
  }
  const Funnel& funnel(uint32_t image) const override { return images_[image].funnel; }
  PayloadOutput payload(uint32_t image) const override {
    const SecondPayload& from = images_[image].payload;
    return {from.values, from.places.bits, from.bits.data()};
  }

 private:
  static FoundImage run(const Plan& plan, std::span<const TensorView> tensors, uint32_t image) {
    const HostKernels& kernels = second_kernels();
    const uint32_t anchors = plan.layout.anchors;
    std::vector<Candidate> found(plan.rules.candidates), ordered(plan.rules.candidates);
    FoundImage out;
    found.resize(kernels.decode(plan, tensors, image, {0, anchors}, found, out.funnel));
    ordered.resize(kernels.select(plan, found, {}, ordered));
    out.funnel.after_top_k = static_cast<uint32_t>(ordered.size());
    if (is_planted(Bug::kFilteredFirst))
      std::erase_if(ordered, [&](const Candidate& each) {
        const Box box = on_frame(plan, map_of(plan, image), each);
        return !wanted(box, box, key_class(each.key), plan);
      });
    std::vector<uint32_t> kept(plan.rules.kept_capacity + 1);  // one more for a bug
    kept.resize(kernels.nms(plan, ordered, kept, {}));
    out.funnel.kept = static_cast<uint32_t>(kept.size());
    for (const uint32_t i : kept) emit(plan, map_of(plan, image), ordered[i], out);
    out.payload = second_payload(plan, tensors, image, out.boxes);
    return out;
  }

  static void emit(const Plan& plan, const Letterbox& map, const Candidate& from, FoundImage& out) {
    Detection oriented;
    Box around;
    if (plan.rules.oriented) oriented = oriented_on_frame(map, from, around);
    const Box box = plan.rules.oriented ? oriented.box : on_frame(plan, map, from);
    const uint32_t id = key_class(from.key);
    if (!(box.x1 < box.x2 && box.y1 < box.y2)) ++out.funnel.clipped_away;
    else if (!wanted(box, plan.rules.oriented ? around : box, id, plan)) ++out.funnel.filtered_out;
    else
      out.boxes.push_back({.box = box,
                           .score = key_score(from.key),
                           .angle = oriented.angle,
                           .class_id = id,
                           .anchor = plan.rules.contract.later_first
                                         ? kMaxAnchors - 1 - key_anchor(from.key)
                                         : key_anchor(from.key)});
  }

  std::vector<FoundImage> images_;
};

}  // namespace

const Letterbox& map_of(const Plan& plan, uint32_t image) {
  if (plan.tiles.empty()) return plan.letterbox;
  return plan.tiles[is_planted(Bug::kFirstTile) ? 0 : image].letterbox;
}

Result<std::unique_ptr<Runner>> second_runner(const Plan& plan, MemorySpace, ThreadPool*) {
  return std::make_unique<SecondRunner>(plan);
}

}  // namespace keepbox::test
