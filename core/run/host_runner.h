// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a frame on the host: candidates, suppression, boxes and payloads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "core/formula/candidate.h"
#include "core/run/backend.h"
#include "core/run/payload.h"
#include "core/run/workspace.h"

namespace keepbox {

// Computes the payload of an image's kept boxes, in host memory.

/// Assignment of candidates to kept boxes, for methods that compute means.
struct Owners {
  std::span<const Candidate> candidates;  // in key order
  std::span<const uint32_t> owner;        // index of the kept candidate, for each; empty: no means
  std::span<const uint32_t> kept;         // index of the candidate, per box
};

/// Output and memory of one image. Memory for masks grows as needed; everything else is allocated
/// by create().
class HostPayload {
 public:
  static Result<HostPayload> create(const Plan& plan);

  /// Computes the output. Returns kNoResource if there is no memory for masks.
  /// @param detections of the image, on the frame.
  Status run(const HostKernels& kernels, const Plan& plan, std::span<const TensorView> tensors,
             uint32_t image, std::span<const Detection> detections, const Owners& owners);

  /// Returns the output of the last run.
  PayloadOutput output() const { return {values_, places_.bits, words_}; }

 private:
  /// A frame to read with the kernels.
  struct Frame {
    const HostKernels& kernels;
    const Plan& plan;
    std::span<const TensorView> tensors;
    uint32_t image;
  };
  void read_mean(const Frame& read, const Owners& owners, uint32_t kept, std::span<float> out);
  Status make_masks(const Frame& read, std::span<const Detection> detections);

  ScratchBuffer<float> own_values_,
      value_scratch_;  // of all boxes; of one box that is merged into a mean
  std::span<const float> values_;
  MaskRects places_;
  ScratchBuffer<float> sums_;
  ScratchBuffer<uint32_t> bits_;
  const uint32_t* words_ = nullptr;  // of bits_
};

// Runs frames in host memory by a backend's kernels.

/// Decodes, selects, suppresses and maps the images of a frame one after the other.
class HostRunner final : public Runner {
 public:
  /// Returns kNoResource if the memory for the plan is not available.
  /// @param kernels outlive the runner. @param threads to decode large tensors in parts, or null.
  static Result<std::unique_ptr<Runner>> create(const HostKernels& kernels, const Plan& plan,
                                                ThreadPool* threads);

  Status run(const Plan& plan, std::span<const TensorView> tensors, const Stop& stop) override;
  Status retune(const Plan&) override { return {}; }
  std::span<const Detection> detections(uint32_t image) const override {
    return images_[image].detections.first(images_[image].count);
  }
  const Funnel& funnel(uint32_t image) const override { return images_[image].funnel; }
  PayloadOutput payload(uint32_t image) const override { return payloads_[image].output(); }

 private:
  struct Image {
    std::span<Detection> detections;  // kept_capacity
    uint32_t count = 0;               // of detections
    Funnel funnel;
  };

  HostRunner(const HostKernels& kernels, const Plan& plan, Workspace workspace,
             ThreadPool* threads);
  Status run(const Plan& plan, std::span<const TensorView> tensors, uint32_t image, Stop stop);

  const HostKernels& kernels_;
  Workspace workspace_;
  ThreadPool* threads_;
  std::vector<Image> images_;
  std::vector<HostPayload> payloads_;  // one per image, if boxes have a payload
};

// Collects the candidates of one image during decoding.

/// @tparam Values outlives the collector.
template <AnchorReader Values>
class Collector {
 public:
  Collector(const Values& from, std::span<Candidate> out, Funnel& funnel)
      : from_(from), out_(out), funnel_(funnel) {}

  /// Adds the anchor as a candidate if its verdict passes; updates the funnel.
  void add(uint32_t anchor, ScoredClass scored) {
    const auto raw = [&] { return box_of(anchor); };
    Candidate candidate;
    const Outcome outcome = keepbox::try_candidate(from_, anchor, scored, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    ++funnel_.above_threshold;
    if (outcome == Outcome::kNotFinite) ++funnel_.not_finite;
    if (outcome != Outcome::kCandidate) return;
    out_[count_++] = candidate;
    ++funnel_.after_class_filter;
  }

  /// Judges an anchor and adds it as a candidate if it passes.
  void add(uint32_t anchor) {
    visit_classes(from_, anchor, [&](ScoredClass scored) { add(anchor, scored); });
  }

  uint32_t count() const { return count_; }

 private:
  RawBox box_of(uint32_t anchor) {
    return from_.rules.boxes.bins > 1 ? means_of(anchor) : raw_box(from_, anchor);
  }

  /// Returns the box of distance bins, cached for the other classes of the anchor.
  [[gnu::noinline]] RawBox means_of(uint32_t anchor) {
    if (anchor != latest_) means_ = raw_box(from_, anchor);
    latest_ = anchor;
    return means_;
  }

  const Values& from_;
  std::span<Candidate> out_;
  Funnel& funnel_;
  uint32_t count_ = 0;
  RawBox means_ = {};
  uint32_t latest_ = std::numeric_limits<uint32_t>::max();  // the anchor that means_ belongs to
};

}  // namespace keepbox
