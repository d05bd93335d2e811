// SPDX-License-Identifier: LGPL-2.1-or-later
// Backends: they return the same boxes, bit for bit. Each makes runners of whole frames.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/base/threads.h"
#include "core/formula/box.h"
#include "core/formula/candidate.h"
#include "core/formula/mask.h"
#include "core/plan/crops.h"
#include "core/plan/input.h"
#include "core/plan/plan.h"
#include "core/run/output.h"
#include "core/run/workspace.h"

namespace keepbox {

struct MaskRects;

/// Counts where the candidates of one image were dropped; answers "why is there no box?".
struct Funnel {
  uint32_t anchors = 0;          // in the tensor
  uint32_t above_threshold = 0;  // passed their class's score threshold
  uint32_t not_finite = 0;       // of those, dropped for a NaN, an infinity or an invalid class
  uint32_t after_class_filter = 0;
  uint32_t after_top_k = 0;
  uint32_t kept = 0;          // by NMS and max-detections
  uint32_t clipped_away = 0;  // of those, entirely outside the frame
  uint32_t filtered_out = 0;  // of those, dropped by a size or region filter
  uint32_t merged_away = 0;   // of those on the frame, dropped for a box of another tile
  uint32_t empty_masks = 0;   // of those left, dropped by the caller for a mask without a pixel

  /// Returns the number of boxes on the frame.
  uint32_t boxes() const { return kept - clipped_away - filtered_out - merged_away - empty_masks; }

  Funnel& operator+=(const Funnel& other) {
    for (auto count :
         {&Funnel::anchors, &Funnel::above_threshold, &Funnel::not_finite,
          &Funnel::after_class_filter, &Funnel::after_top_k, &Funnel::kept, &Funnel::clipped_away,
          &Funnel::filtered_out, &Funnel::merged_away, &Funnel::empty_masks})
      this->*count += other.*count;
    return *this;
  }
};

/// Anchors first .. end - 1 of an image.
struct AnchorRange {
  uint32_t first = 0, end = 0;
};

/// The payload of an image's boxes, in the order of the boxes. Valid until the next run().
struct PayloadOutput {
  /// Values on the frame, plan.payload.count per box; may be empty for masks.
  std::span<const float> values;
  // Masks only:
  std::span<const MaskRect> places;  // one per box
  const uint32_t* bits = nullptr;    // of all masks
};

/// Runs whole frames of one plan in memory of its own.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs a frame (or batch) to the end. Allocates nothing, except for masks larger than any
  /// before.
  /// @param plan the plan that the runner was made for.
  /// @param tensors as for Processor::run().
  /// @param stop makes it return kInterrupted soon; runners on a device do not check it.
  virtual Status run(const Plan& plan, std::span<const TensorView> tensors, const Stop& stop) = 0;

  /// Applies the thresholds, classes, sizes and regions of a plan that differs in nothing else.
  virtual Status retune(const Plan& plan) = 0;

  /// Enqueues a frame or batch on the caller's stream, and returns at once. kUnsupported if the
  /// host is needed between its launches.
  virtual Status enqueue(const Plan&, std::span<const TensorView>, const DeviceOutput&) {
    return reject(ErrorKind::kUnsupported, "This backend has no streams", "use run()");
  }

  /// Returns the boxes of an image, best first, clipped to the frame. Valid until the next run().
  virtual std::span<const Detection> detections(uint32_t image) const = 0;
  virtual const Funnel& funnel(uint32_t image) const = 0;
  virtual PayloadOutput payload(uint32_t image) const = 0;
};

/// Problems of suppression, which are independent of each other, and their results. All boxes have
/// room for indices: those of problem i begin at starts[i].
struct BoxProblems {
  MemorySpace memory = MemorySpace::kSystem;  // of everything but the starts and the counts
  void* stream = nullptr;                     // device memory only: the work is enqueued on it
  BoxList list;
  uint32_t boxes = 0;                // of all problems
  const uint32_t* starts = nullptr;  // on the host, ascending from 0; null: one problem
  uint32_t start_count = 0;
  int64_t* indices = nullptr;  // in the list, of the kept boxes of each problem, best first
  uint32_t* counts = nullptr;  // kept boxes of each problem
  MemorySpace counts_memory = MemorySpace::kSystem;

  uint32_t problems() const { return starts == nullptr ? 1 : start_count; }
  uint32_t begin(uint32_t problem) const { return starts == nullptr ? 0 : starts[problem]; }
  uint32_t end(uint32_t problem) const {
    return problem + 1 < problems() ? starts[problem + 1] : boxes;
  }
  uint32_t size(uint32_t problem) const { return end(problem) - begin(problem); }
};

/// Suppresses boxes that come from no tensors, in memory of its own, which grows with the number of
/// boxes. Boxes that are not finite are not kept.
class BoxRunner {
 public:
  virtual ~BoxRunner() = default;

  /// Writes the results, or enqueues that; waits if the counts are on the host.
  /// @param problems with valid pointers and starts, and at most kMaxAnchors boxes each.
  virtual Status run(const BoxProblems& problems) = 0;
};

/// Returns the error for a class that is_class() rejects. @param where "of box 3".
Error class_error(std::string_view where);

/// Kernels on host memory, run by a HostRunner. They never allocate, lock, log or throw.
struct HostKernels {
  /// Writes the candidates among a range of anchors of one image, in any order, and returns their
  /// number. Adds to the first four counters of the funnel. @pre out has space for the candidates
  /// of every anchor in the range, and the plan holds for the tensors.
  uint32_t (*decode)(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                     AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

  /// Writes the candidates that reach suppression in key order, and returns their number: the best
  /// of each class up to the class limit, and the best of those up to the overall limit.
  /// @pre ordered.size() and slots.size() >= candidates.size(); slots are scratch space.
  uint32_t (*select)(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<SortSlot> slots, std::span<Candidate> ordered);

  /// Writes the indices of the ordered candidates to keep, best first, and returns their number.
  /// Methods that change scores or corners write them to the candidates.
  /// @pre kept.size() >= plan.rules.kept_capacity; scratch has nms_lanes() and nms_words().
  uint32_t (*nms)(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch);

  /// Reads the payload of an anchor, plan.payload.count values: keypoints in model pixels, others
  /// as they are.
  void (*payload)(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                  uint32_t anchor, std::span<float> out);

  /// Computes the masks of kept boxes as sums of prototypes times coefficients, in prototype order.
  /// @param factors the coefficients, MaskRules::coefficients per box.
  /// @param places where the boxes' masks are written in `out`.
  void (*masks)(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                std::span<const float> factors, std::span<const MaskRect> places,
                const MaskOutput& out);

  /// Enlarges sums to frame resolution by bilinear interpolation, like Ultralytics' retina_masks,
  /// and sets the bits whose pixels are positive. @param sums of masks() at places.sums.
  /// @param bits written at places.bits.
  void (*enlarge)(const Plan& plan, uint32_t image, const MaskRects& places, const float* sums,
                  uint32_t* bits);
};

/// Devices of a backend, for callers without a context of their own.
struct Devices {
  /// Returns the device whose memory it is; kInvalid for other memory.
  Result<int> (*device_of)(const void* data);
  /// Makes a device current on this thread, and returns the one before.
  Result<int> (*exchange)(int device);
  /// Copies a tensor to the host after its stream's work (ready_stream; null: the default stream).
  /// @pre its device is current.
  Status (*download)(const TensorView& from, std::span<std::byte> to);
  void* (*default_stream)();  // as a stream with a name, which is not null
};

/// One backend.
struct Backend {
  std::string_view name;
  std::string_view summary;                   // one sentence for the manual
  MemorySpace memory = MemorySpace::kSystem;  // memory that it reads in place

  /// Returns an error if this backend cannot run the plan.
  Status (*supports)(const Plan& plan);

  /// Creates a runner. @param memory where the tensors are; memory that is not read in place is
  /// copied. @param threads to split large tensors on the host; may be null, outlives the runner.
  Result<std::unique_ptr<Runner>> (*runner)(const Plan& plan, MemorySpace memory,
                                            ThreadPool* threads);

  /// Creates a runner of suppression alone; null: a HostBoxRunner of the kernels below.
  /// @param settings valid for plan_suppression(). @param device its number, or negative for the
  /// one that has the boxes.
  Result<std::unique_ptr<BoxRunner>> (*box_runner)(const Settings& settings, bool oriented,
                                                   int device) = nullptr;

  /// Creates a maker of model inputs, from frames in `memory`. @param plan from plan_input(),
  /// copied.
  Result<std::unique_ptr<InputMaker>> (*input_maker)(const InputPlan& plan) = nullptr;

  /// Creates a maker of model inputs from parts of frames in `memory`. @param plan copied.
  Result<std::unique_ptr<CropMaker>> (*crop_maker)(const CropPlan& plan) = nullptr;

  /// Returns the code path used on this machine ("AVX2", "NVIDIA H200"); null if there is only one.
  std::string_view (*variant)() = nullptr;

  const Devices* devices = nullptr;  // null for the host

  /// The kernels of its runners; null for a device.
  const HostKernels* kernels = nullptr;
};

/// Returns the backends of this build, best first. Defined by kernels/list.cpp, which every program
/// that selects a backend links.
std::span<const Backend> backends();

/// Returns the backend of that name, or nullptr.
const Backend* find_backend(std::string_view name);

struct Selection {
  const Backend* backend = nullptr;
  std::string reason;  // for stats and the log
};

/// Returns the effective name: the environment variable KEEPBOX_BACKEND replaces "auto".
std::string_view wanted_backend(std::string_view name);

/// Returns the named backend or, for "auto", the first that runs the plan in the tensors' memory. A
/// named backend may copy the tensors.
Result<Selection> select_backend(std::string_view name, const Plan& plan, MemorySpace memory);

}  // namespace keepbox
