// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds implausible settings.
#include "core/plan/lint.h"

#include <algorithm>
#include <format>
#include <ranges>

#include "core/formula/box.h"
#include "core/model/nms_methods.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

constexpr float kBestScore = 1;  // of a probability

using Errors = std::vector<Error>;

void warn(Errors& out, std::string what, std::string hint) {
  out.push_back(problem(ErrorKind::kInvalid, std::move(what), std::move(hint)));
}

/// Returns the classes of the model that pass the filter; for ready rows all possible classes.
auto wanted_classes(const Plan& plan) {
  const uint32_t first = plan.rules.first_class;
  const uint32_t end = plan.layout.classes == 0 ? static_cast<uint32_t>(plan.class_wanted.size())
                                                : plan.rules.end_class;
  return std::views::iota(first, std::max(first, end)) |
         std::views::filter([&](uint32_t id) { return plan.class_wanted[id] != 0; });
}

void check_thresholds(Errors& out, const Plan& plan) {
  auto wanted = wanted_classes(plan);
  const std::string name(plan.spec->name);
  if (std::ranges::empty(wanted)) {
    warn(out, "include-classes leaves no class to detect", "set it to keep at least one class");
    return;
  }
  if (!plan.spec->probabilities) return;
  const auto text = [&](uint32_t id) { return std::format("{}", plan.class_threshold[id]); };
  const auto passable = [&](uint32_t id) {
    return passes(kBestScore, plan.class_threshold[id], plan.rules.contract);
  };
  if (std::ranges::none_of(wanted, passable))
    warn(out,
         "score-threshold=" + text(*wanted.begin()) + " drops every box: scores of " + name +
             " are at most 1",
         "set score-threshold= or class-thresholds= below 1");
  const auto below =
      std::ranges::find_if(wanted, [&](uint32_t id) { return plan.class_threshold[id] < 0; });
  if (below != wanted.end())
    warn(out,
         "score-threshold=" + text(*below) + " lets every anchor pass: scores of " + name +
             " are never negative",
         "set score-threshold= or class-thresholds= to 0 or more");
}

void check_classes(Errors& out, const Plan& plan, const Settings& settings) {
  if (plan.layout.classes == 0) return;  // ready rows may have any class
  const auto check = [&](const auto& ids, const char* property) {
    const auto odd = std::ranges::find_if(ids, [&](uint32_t id) {
      return id < plan.rules.first_class || id >= plan.rules.end_class;
    });
    if (odd != ids.end())
      warn(out,
           std::format("{} names class {}, but the model's classes are {} to {}", property, *odd,
                       plan.rules.first_class, plan.rules.end_class - 1),
           std::format("set {}= to classes of the model", property));
  };
  check(settings.include_classes, "include-classes");
  check(settings.exclude_classes, "include-classes");
  check(settings.class_thresholds | std::views::keys, "class-thresholds");
  check(settings.filters.min_size.of_class | std::views::keys, "min-size");
  check(settings.filters.max_size.of_class | std::views::keys, "max-size");
}

void check_suppression(Errors& out, const Plan& plan, const Settings& settings) {
  const std::string name(plan.spec->name);
  const float threshold = settings.iou_threshold.value_or(kIouThreshold);
  if (plan.rules.method == NmsMethod::kNone) {
    if (threshold != kIouThreshold)
      warn(out,
           std::format(
               "iou-threshold={} has no effect: {}", threshold,
               settings.nms_method == NmsMethod::kAuto ? name + " needs no NMS" : "NMS is off"),
           "set nms-method=greedy to apply it");
  } else if (!traits_of(plan.rules.method).by_threshold) {
    if (threshold != kIouThreshold)
      warn(out,
           std::format("iou-threshold={} has no effect: this nms-method lowers scores by every "
                       "overlap",
                       threshold),
           "set another nms-method=, or nms-sigma= in a detector file");
  } else if (plan.rules.contract.iou_inclusive && threshold == 0) {
    warn(out,
         std::format("With iou-threshold=0 and nms-contract={}, boxes that do not touch suppress "
                     "each other",
                     plan.rules.contract.name),
         "set iou-threshold= above 0");
  }
}

void check_sizes(Errors& out, const Plan& plan) {
  if (plan.size_limits.empty()) return;
  for (const uint32_t id : wanted_classes(plan)) {
    const SizeLimits& of = plan.size_limits[id];
    const auto text = [](float width, float height) { return std::format("{}x{}", width, height); };
    if (of.min_width <= of.max_width && of.min_height <= of.max_height) continue;
    warn(out,
         std::format("No box of class {} passes: max-size {} is below min-size {}", id,
                     text(of.max_width, of.max_height), text(of.min_width, of.min_height)),
         "set max-size= or min-size=");
    return;
  }
}

void check_regions(Errors& out, const Plan& plan, const Settings& settings) {
  const Size frame = plan.letterbox.frame;
  const Box all{0, 0, static_cast<float>(frame.width), static_cast<float>(frame.height)};
  const auto outside = [&](const Region& each) {
    return !belongs_to(on_frame(each, frame), all, RegionRule::kTouch);
  };
  const auto check = [&](const std::vector<Region>& regions, const char* property) {
    const auto odd = std::ranges::find_if(regions, outside);
    if (odd != regions.end())
      warn(out,
           std::format("Region {} of {} is outside of the frame of {}x{}",
                       odd - regions.begin() + 1, property, frame.width, frame.height),
           "set regions= to regions of the frame");
  };
  check(settings.filters.regions, "the regions");
  check(settings.filters.excluded, "the excluded regions");
}

}  // namespace

std::vector<Error> lint_settings(const Plan& plan, const Settings& settings) {
  Errors out;
  check_thresholds(out, plan);
  check_classes(out, plan, settings);
  check_suppression(out, plan, settings);
  check_sizes(out, plan);
  check_regions(out, plan, settings);
  return out;
}

std::optional<Error> unread_tensors(const Layout& layout, const Settings& settings,
                                    std::span<const TensorView> tensors, bool set) {
  if (!settings.tensor_ids.empty()) return std::nullopt;
  const std::vector<size_t> read = read_tensors(layout), odd = misfits(layout, tensors),
                            parts = unread_parts(layout, tensors);
  const bool half = parts.size() >= read.size();
  std::vector<TensorView> unread;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool named = (settings.mask_size != MaskSize::kNone && tensors[i].id.contains("masks")) ||
                       (settings.keypoints && tensors[i].id.contains("keypoints"));
    const bool against = std::ranges::contains(odd, i) || (half && std::ranges::contains(parts, i));
    if ((named && !std::ranges::contains(read, i)) || (set && against))
      unread.push_back(tensors[i]);
  }
  if (unread.empty()) return std::nullopt;
  return problem(
      ErrorKind::kUnsupported,
      std::string(layout.spec->name) + " does not read " + to_string(unread) +
          ": only the boxes are decoded",
      set ? "check that the model is of that family, or set tensor-ids= to the tensors to "
            "decode"
          : "set tensor-ids= to the tensors to decode, to silence this");
}

}  // namespace keepbox
