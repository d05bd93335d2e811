// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks problems of suppression, and runs them on the host.
#include "core/run/suppressor.h"

#include <algorithm>
#include <array>
#include <format>
#include <new>
#include <span>
#include <utility>

#include "core/formula/geometry.h"
#include "core/plan/limits.h"

namespace keepbox {

Settings suppression_defaults() {
  Settings settings;
  settings.score_threshold = -std::numeric_limits<float>::infinity();
  settings.iou_threshold = 0.5f;
  settings.max_detections = std::numeric_limits<uint32_t>::max();
  settings.nms_contract = "exact";
  return settings;
}

Error class_error(std::string_view where) {
  return problem(ErrorKind::kInvalid,
                 std::format("The class {} is not one of 0 to {}", where, kMaxClasses - 1),
                 "number the classes from 0, or pass none to let all boxes suppress each other");
}

namespace {

Status check_pointers(const BoxProblems& problems) {
  const auto missing = [](const char* what) {
    return reject(ErrorKind::kInvalid, std::format("There are boxes, but no {}", what),
                  "set the pointer to them");
  };
  if (problems.problems() != 0 && problems.counts == nullptr)
    return reject(ErrorKind::kInvalid, "There is no memory for the counts",
                  "set the pointer to it");
  if (problems.boxes == 0) return {};
  if (problems.list.boxes == nullptr) return missing("corners");
  if (problems.list.scores == nullptr) return missing("scores");
  if (problems.indices == nullptr) return missing("memory for their indices");
  return {};
}

Status check_starts(const BoxProblems& problems) {
  const auto bad = [](std::string what) {
    return reject(ErrorKind::kInvalid, std::move(what),
                  "set starts to the index of each problem's first box, ascending from 0");
  };
  if (problems.problems() == 0 && problems.boxes != 0)
    return bad(std::format("There are {} boxes, but no problem", problems.boxes));
  for (uint32_t i = 0; i < problems.problems(); ++i) {
    if (i == 0 && problems.begin(0) != 0)
      return bad(std::format("The first problem begins at box {}", problems.begin(0)));
    if (problems.end(i) < problems.begin(i))
      return bad(std::format("Problem {} begins at box {} and ends at box {}", i, problems.begin(i),
                             problems.end(i)));
    if (problems.size(i) > kMaxAnchors)
      return reject(
          ErrorKind::kUnsupported,
          std::format("A problem has {} boxes: the maximum is {}", problems.size(i), kMaxAnchors),
          "leave out those with the lowest scores");
  }
  return {};
}

}  // namespace

Result<Suppressor> Suppressor::create(const Settings& settings, bool oriented,
                                      const Backend& backend, int device) {
  KB_ASSIGN(auto runner, backend.box_runner != nullptr
                             ? backend.box_runner(settings, oriented, device)
                             : HostBoxRunner::create(*backend.kernels, settings, oriented));
  return Suppressor(std::move(runner));
}

Status Suppressor::run(const BoxProblems& problems) {
  if (problems.memory == MemorySpace::kSystem && problems.counts_memory != MemorySpace::kSystem)
    return reject(ErrorKind::kInvalid, "The counts are in CUDA memory, but the boxes are not",
                  "put the counts into host memory");
  KB_TRY(check_starts(problems));
  KB_TRY(check_pointers(problems));
  return runner_->run(problems);
}

Result<std::unique_ptr<BoxRunner>> HostBoxRunner::create(const HostKernels& kernels,
                                                         const Settings& settings, bool oriented) {
  KB_ASSIGN(auto plan, plan_suppression(settings, oriented));
  return std::unique_ptr<BoxRunner>(new HostBoxRunner(kernels, settings, std::move(plan)));
}

namespace {

Status check_classes(const BoxProblems& problems) {
  if (problems.list.classes == nullptr) return {};
  const std::span ids(problems.list.classes, problems.boxes);
  const auto odd = std::ranges::find_if_not(ids, is_class);
  if (odd == ids.end()) return {};
  return std::unexpected(class_error(std::format("{} of box {}", *odd, odd - ids.begin())));
}

/// Collects the candidates of a problem. @return their number.
uint32_t collect(const Plan& plan, const BoxList& list, std::span<Candidate> out) {
  const Tables tables = plan.tables();
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan.rules.anchors; ++i)
    if (try_box(plan.rules, tables, list, i, out[count]) == Outcome::kCandidate) ++count;
  return count;
}

/// Coordinate below which most of some coordinates are.
class UsualBound {
 public:
  void add(float value) { values_[count_++] = value; }

  /// Returns a bound a little above fifteen of sixteen values: single ones may be anywhere.
  uint32_t get() {
    if (count_ == 0) return 1;
    const auto nth = values_.begin() + static_cast<ptrdiff_t>(count_ * 15 / 16);
    std::nth_element(values_.begin(), nth, values_.begin() + static_cast<ptrdiff_t>(count_));
    return static_cast<uint32_t>(std::clamp(*nth * 1.0625f, 1.0f, 1e9f));
  }

  static constexpr size_t kMost = 256;

 private:
  std::array<float, kMost> values_;
  size_t count_ = 0;
};

/// Returns a size that most of the boxes are in, in place of a model input, which the kernels
/// divide into cells. Results do not depend on it.
Size usual_area(const NmsContract& contract, std::span<const Candidate> candidates) {
  UsualBound x, y;
  const size_t step = candidates.size() / UsualBound::kMost + 1;
  for (size_t i = 0; i < candidates.size(); i += step) {
    const Box box = shifted(candidates[i].box, contract, key_class(candidates[i].key));
    x.add(box.x2);
    y.add(box.y2);
  }
  return {x.get(), y.get()};
}

}  // namespace

Status HostBoxRunner::run(const BoxProblems& problems) {
  KB_TRY(check_classes(problems));
  for (uint32_t i = 0; i < problems.problems(); ++i) KB_TRY(run(problems, i));
  return {};
}

Status HostBoxRunner::run(const BoxProblems& problems, uint32_t problem) {
  const uint32_t first = problems.begin(problem), boxes = problems.size(problem);
  problems.counts[problem] = 0;
  if (boxes == 0) return {};
  fit_to(plan_, settings_, boxes);
  KB_TRY(workspace_.fit(plan_));
  const Scratch& scratch = workspace_.scratch();
  const auto candidates = scratch.candidates.first(
      collect(plan_, problems.list.from(first, plan_.rules.oriented), scratch.candidates));
  KB_TRY(check_ceiling(plan_, static_cast<uint32_t>(candidates.size())));
  plan_.letterbox.model = usual_area(plan_.rules.contract, candidates);
  const auto ordered =
      scratch.ordered.first(kernels_.select(plan_, candidates, scratch.slots, scratch.ordered));
  const uint32_t kept = kernels_.nms(plan_, ordered, scratch.kept, scratch.nms);
  for (uint32_t i = 0; i < kept; ++i) {
    const uint32_t anchor = key_anchor(ordered[scratch.kept[i]].key);
    problems.indices[first + i] = first + anchor_in_key(plan_.rules.contract, anchor);
  }
  problems.counts[problem] = kept;
  return {};
}

}  // namespace keepbox
