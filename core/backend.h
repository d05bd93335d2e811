// SPDX-License-Identifier: LGPL-2.1-or-later
// Backends: named sets of kernels that return the same boxes, bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/box.h"
#include "core/input.h"
#include "core/plan.h"
#include "core/result.h"
#include "core/tensor.h"
#include "core/workspace.h"

namespace keepbox {

/// Where the candidates of one image went: the answer to "why is there no box?".
struct Funnel {
  uint32_t anchors = 0;          // in the tensor
  uint32_t above_threshold = 0;  // passed their class's score threshold
  uint32_t not_finite = 0;       // of those, dropped for a NaN, an infinity or a senseless class
  uint32_t after_class_filter = 0;
  uint32_t after_top_k = 0;
  uint32_t kept = 0;             // by NMS and max-detections
  uint32_t clipped_away = 0;     // of those, wholly outside the frame
  uint32_t filtered_out = 0;     // of those, of a size or in a place that is not wanted
};

/// Anchors first .. end - 1 of an image.
struct AnchorRange {
  uint32_t first = 0, end = 0;
};

/// What a runner gathered of an image's boxes, in their order. Valid until the next run().
struct Gathered {
  std::span<const Keypoint> points;   // as many for each box as the plan says, on the frame
  std::span<const MaskPlace> places;  // one a box
  MaskRoom masks;
};

/// Whole frames of one plan on a backend whose kernels and memory are not the host's.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs a frame (or batch) to the end. Allocates nothing.
  /// @param plan the one that it was made for.
  virtual Status run(const Plan& plan, std::span<const TensorView> tensors) = 0;

  /// Takes over a plan's thresholds, classes, sizes and regions, which are all that differs from the one before.
  virtual Status retune(const Plan& plan) = 0;

  /// Boxes of an image, best first, clipped to the frame. Valid until the next run().
  virtual std::span<const Detection> detections(uint32_t image) const = 0;
  virtual const Funnel& funnel(uint32_t image) const = 0;
  virtual Gathered gathered(uint32_t image) const = 0;
};

/// The kernels of a backend. None allocates, locks, logs or throws.
struct Backend {
  std::string_view name;
  std::string_view summary;  // a sentence for the manual
  MemorySpace memory = MemorySpace::kSystem;  // where it reads tensors in place

  /// Why this backend cannot run a plan, or nothing.
  Status (*supports)(const Plan& plan);

  /// Writes the candidates among some anchors of one image in any order, counts the first four of
  /// the funnel and returns how many. @pre out has room for all of them, tensors hold for the plan.
  uint32_t (*decode)(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                     AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

  /// Writes the candidates that the limits let reach suppression, in key order, and returns how
  /// many: of each class the best, of those the best of all.
  /// @pre ordered.size() and slots.size() >= candidates.size(); slots are for the kernel's use.
  uint32_t (*select)(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<SortSlot> slots, std::span<Candidate> ordered);

  /// Writes indices of the ordered candidates to keep, best first; returns how many. Methods that
  /// give boxes other scores or corners write them to the candidates.
  /// @pre kept.size() >= plan.rules.kept_capacity; the scratch is of nms_lanes() and nms_words().
  uint32_t (*nms)(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch);

  /// Makes masks of kept boxes: sums of prototypes by factors, in the order of these. @param factors
  /// as many for each box as the plan has coefficients. @param places of the boxes, in `out`.
  void (*masks)(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                std::span<const float> factors, std::span<const MaskPlace> places,
                const MaskRoom& out) = nullptr;

  /// Which code runs on this machine ("AVX2", "NVIDIA H200"), for backends that have several.
  std::string_view (*variant)() = nullptr;

  /// Set where the three kernels above are not, for they take the host's memory only.
  /// @param memory where the tensors will be; what it does not read in place it copies.
  Result<std::unique_ptr<Runner>> (*runner)(const Plan& plan, MemorySpace memory) = nullptr;

  /// Makes inputs in `memory` of frames there. @param plan one of plan_input(); it is copied.
  Result<std::unique_ptr<InputMaker>> (*input_maker)(const InputPlan& plan) = nullptr;
};

/// The backends of this build, best first. Defined by kernels/list.cpp: programs that choose among
/// backends link it.
std::span<const Backend> backends();

/// The backend of that name, or nullptr.
const Backend* find_backend(std::string_view name);

struct Selection {
  const Backend* backend = nullptr;
  std::string reason;  // why this one, for stats and the log
};

/// The name that counts: the environment variable KEEPBOX_BACKEND replaces "auto".
std::string_view wanted_backend(std::string_view name);

/// The wanted backend, or for "auto" the first that runs the plan in the tensors' memory. One that
/// is named also takes tensors that its runner has to copy.
Result<Selection> select_backend(std::string_view name, const Plan& plan, MemorySpace memory);

}  // namespace keepbox
