// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares contracts on YOLOX's recorded tensors and explains the differences.
#include "tests/unit/families/dialects.h"

#include <algorithm>
#include <format>
#include <map>

#include "core/model/contracts.h"
#include "tests/recorded.h"
#include "tests/scene.h"

namespace keepbox::test {
namespace {

constexpr const char* kContracts[] = {"numpy",       "plus-one", "faster-rcnn", "efficientnms",
                                      "ultralytics", "tflite",   "opencv"};

using Kept = std::map<std::pair<uint32_t, uint32_t>, Detection>;  // by anchor and class

/// One photo's tensor and its settings.
struct Photo {
  std::string name;
  std::vector<char> file;
  Settings settings;
  TensorView view;

  Kept kept(const char* contract) const {
    Settings each = settings;
    each.nms_contract = contract;
    Kept out;
    const auto found = detect(each, {view});
    for (const Detection& box : found.value_or(std::vector<Detection>()))
      out[{box.anchor, box.class_id}] = box;
    return out;
  }
};

std::vector<Photo> photos(float score, float iou) {
  std::vector<Photo> out;
  for (const Recorded& entry : recorded()) {
    if (entry.detector != "yolox") continue;
    Photo photo{.name = entry.files[0].stem().stem().string(), .file = read_file(entry.files[0])};
    photo.settings.detector = "yolox";
    photo.settings.frame.size = {entry.width, entry.height};
    photo.settings.score_threshold = score;
    photo.settings.iou_threshold = iou;
    photo.settings.max_detections = 1000;
    out.push_back(std::move(photo));
    out.back().view = {.data = out.back().file.data(),
                       .bytes = out.back().file.size(),
                       .shape = Shape(std::span<const size_t>(entry.dims[0]))};
  }
  return out;
}

/// Returns the IoU in float64, with sides longer by `pixel`.
double iou_of(const Box& a, const Box& b, double pixel) {
  const auto area = [&](const Box& box) {
    return (double{box.x2} - double{box.x1} + pixel) * (double{box.y2} - double{box.y1} + pixel);
  };
  const double w = double{std::min(a.x2, b.x2)} - double{std::max(a.x1, b.x1)} + pixel;
  const double h = double{std::min(a.y2, b.y2)} - double{std::max(a.y1, b.y1)} + pixel;
  const double common = std::max(w, 0.0) * std::max(h, 0.0);
  return common / (area(a) + area(b) - common);
}

/// Explains why one side suppressed a box that the other keeps; empty if unexplained.
/// @param here boxes kept by the side that suppressed it, there those of the other side.
std::string reason(const Detection& box, const Kept& here, const Kept& there, const NmsContract& by,
                   const NmsContract& other, float iou) {
  for (const auto& [key, keeper] : here) {
    const bool same = keeper.class_id == box.class_id;
    if ((!same && !by.class_agnostic) || keeper.score < box.score) continue;
    const double now = iou_of(keeper.box, box.box, double{by.pixel()});
    const double then = iou_of(keeper.box, box.box, double{other.pixel()});
    if (!(now > iou)) continue;
    const std::string with = std::format("IoU {:.4f} with anchor {}", now, keeper.anchor);
    if (!same) return with + std::format(" of class {}", keeper.class_id);
    if (keeper.score == box.score) return with + " of the same score";
    if (!(then > iou)) return with + std::format(", {:.4f} by the other rule", then);
    if (!there.contains(key)) return with + ", which the other rule lost";
  }
  return {};
}

void compare(Dialects& out, const Photo& photo, const char* contract, float iou) {
  const Kept exact = photo.kept("exact"), ours = photo.kept(contract);
  const NmsContract &plain = *find_contract("exact"), &rules = *find_contract(contract);
  const auto add = [&](const Kept& from, const Kept& without, bool lost) {
    for (const auto& [key, box] : from) {
      if (without.contains(key)) continue;
      out.differences.push_back({photo.name, contract, box, lost,
                                 lost ? reason(box, without, from, rules, plain, iou)
                                      : reason(box, without, from, plain, rules, iou)});
    }
  };
  add(exact, ours, true);
  add(ours, exact, false);
}

}  // namespace

Dialects compare_dialects(float score, float iou) {
  Dialects out;
  for (const char* contract : kContracts) out.contracts.emplace_back(contract);
  for (const Photo& photo : photos(score, iou)) {
    ++out.photos;
    out.boxes += photo.kept("exact").size();
    for (const char* contract : kContracts) compare(out, photo, contract, iou);
  }
  return out;
}

std::string to_string(const Difference& each) {
  return std::format("{}: anchor {}, class {}, score {:.3f} {}: {}", each.photo, each.box.anchor,
                     each.box.class_id, each.box.score, each.lost ? "goes" : "stays", each.reason);
}

}  // namespace keepbox::test
