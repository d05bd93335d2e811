// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds settings that cannot be meant.
#include "core/sense.h"

#include <algorithm>
#include <ranges>

#include "core/box.h"

namespace keepbox {
namespace {

constexpr float kBestScore = 1;  // of a probability

using Errors = std::vector<Error>;

void warn(Errors& out, std::string expected, std::string found, std::string hint) {
  out.push_back({ErrorKind::kInvalid, std::move(expected), std::move(found), std::move(hint)});
}

/// Those of the model that are wanted, for ready rows all that there could be.
auto wanted_classes(const Plan& plan) {
  const uint32_t first = plan.rules.first_class;
  const uint32_t end = plan.layout.classes == 0
                           ? static_cast<uint32_t>(plan.class_wanted.size())
                           : plan.rules.end_class;
  return std::views::iota(first, std::max(first, end)) |
         std::views::filter([&](uint32_t id) { return plan.class_wanted[id] != 0; });
}

void check_thresholds(Errors& out, const Plan& plan) {
  auto wanted = wanted_classes(plan);
  const std::string name(plan.spec->name);
  if (std::ranges::empty(wanted)) {
    warn(out, "classes that are left over by include-classes and exclude-classes", "none",
         "set include-classes= and exclude-classes=");
    return;
  }
  if (!plan.spec->probabilities) return;
  const auto text = [&](uint32_t id) { return std::to_string(plan.class_threshold[id]); };
  const auto passable = [&](uint32_t id) {
    return passes(kBestScore, plan.class_threshold[id], plan.rules.contract);
  };
  if (std::ranges::none_of(wanted, passable))
    warn(out, "a score-threshold below 1, which the scores of " + name + " never exceed",
         text(*wanted.begin()), "set score-threshold= or class-thresholds=");
  const auto below = std::ranges::find_if(wanted, [&](uint32_t id) {
    return plan.class_threshold[id] < 0;
  });
  if (below != wanted.end())
    warn(out, "a score-threshold of 0 or above, for the scores of " + name + " are never below",
         text(*below), "set score-threshold= or class-thresholds=");
}

void check_classes(Errors& out, const Plan& plan, const Settings& settings) {
  if (plan.layout.classes == 0) return;  // ready rows name any class
  const auto check = [&](const auto& ids, const char* property) {
    const auto odd = std::ranges::find_if(
        ids, [&](uint32_t id) { return id < plan.rules.first_class || id >= plan.rules.end_class; });
    if (odd != ids.end())
      warn(out,
           std::string(property) + " of the model's classes, " +
               std::to_string(plan.rules.first_class) + " to " + std::to_string(plan.rules.end_class - 1),
           std::to_string(*odd), std::string("set ") + property + "=");
  };
  check(settings.include_classes, "include-classes");
  check(settings.exclude_classes, "exclude-classes");
  check(settings.class_thresholds | std::views::keys, "class-thresholds");
  check(settings.filters.least.of_class | std::views::keys, "min-size");
  check(settings.filters.most.of_class | std::views::keys, "max-size");
}

/// Is suppression a matter of scores alone?
bool ignores_threshold(NmsMethod method) {
  return method == NmsMethod::kSoftGaussian || method == NmsMethod::kMatrix ||
         method == NmsMethod::kMatrixLinear;
}

void check_suppression(Errors& out, const Plan& plan, const Settings& settings) {
  const Settings defaults;
  const std::string name(plan.spec->name);
  if (plan.rules.method == NmsMethod::kNone) {
    if (settings.iou_threshold != defaults.iou_threshold)
      warn(out, "no iou-threshold, for nothing is suppressed" +
                    (settings.method == NmsMethod::kAuto ? " for " + name : std::string()),
           std::to_string(settings.iou_threshold), "set nms-method=greedy if it is to count");
  } else if (ignores_threshold(plan.rules.method)) {
    if (settings.iou_threshold != defaults.iou_threshold)
      warn(out, "no iou-threshold, for the method lowers scores by all overlaps",
           std::to_string(settings.iou_threshold), "set soft-nms-sigma= or nms-method=");
  } else if (plan.rules.contract.iou_inclusive && settings.iou_threshold == 0) {
    warn(out, "an iou-threshold above 0 with nms-contract=" + std::string(plan.rules.contract.name) +
                  ", by which boxes that do not touch reach 0",
         "0", "set iou-threshold=");
  }
}

void check_sizes(Errors& out, const Plan& plan) {
  if (plan.size_limits.empty()) return;
  for (const uint32_t id : wanted_classes(plan)) {
    const SizeLimits& of = plan.size_limits[id];
    const auto text = [](float width, float height) {
      return std::to_string(width) + "x" + std::to_string(height);
    };
    if (of.least_width <= of.most_width && of.least_height <= of.most_height) continue;
    warn(out, "a max-size that is no less than min-size for class " + std::to_string(id),
         text(of.most_width, of.most_height) + " and " + text(of.least_width, of.least_height),
         "set max-size= or min-size=");
    return;
  }
}

void check_regions(Errors& out, const Plan& plan, const Settings& settings) {
  const Size frame = plan.letterbox.frame;
  const Box all{0, 0, static_cast<float>(frame.width), static_cast<float>(frame.height)};
  const auto outside = [&](const Region& each) {
    return !is_of(on_frame(each, frame), all, RegionRule::kTouch);
  };
  const auto check = [&](const std::vector<Region>& regions, const std::string& property) {
    const auto odd = std::ranges::find_if(regions, outside);
    if (odd != regions.end())
      warn(out, property + " on the frame of " + std::to_string(frame.width) + "x" +
                    std::to_string(frame.height),
           "number " + std::to_string(odd - regions.begin() + 1) + " outside of it",
           "set " + property + "=");
  };
  check(settings.filters.wanted, "regions");
  check(settings.filters.excluded, "exclude-regions");
}

}  // namespace

std::vector<Error> senseless(const Plan& plan, const Settings& settings) {
  Errors out;
  check_thresholds(out, plan);
  check_classes(out, plan, settings);
  check_suppression(out, plan, settings);
  check_sizes(out, plan);
  check_regions(out, plan, settings);
  return out;
}

std::optional<Error> undecoded_payload(const Layout& layout, std::span<const TensorView> tensors) {
  std::vector<TensorView> unread;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool named = tensors[i].id.contains("masks") || tensors[i].id.contains("keypoints");
    const auto reads = [&](const Field& field) { return field.tensor == static_cast<int>(i); };
    const auto has = [&](const Segment& segment) { return std::ranges::any_of(segment.fields, reads); };
    if (named && std::ranges::none_of(layout.segments, has)) unread.push_back(tensors[i]);
  }
  if (unread.empty()) return std::nullopt;
  return Error{ErrorKind::kUnsupported,
               "tensors that " + std::string(layout.spec->name) + " decodes", to_string(unread),
               "the boxes are complete; these tensors are ignored"};
}

}  // namespace keepbox
