// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory that a frame needs, in one blob that carve() hands out: the only list of buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/box.h"
#include "core/plan.h"
#include "core/result.h"
#include "core/stop.h"

namespace keepbox {

/// Hands out aligned parts of a blob. With a null base it only measures.
class Carver {
 public:
  static constexpr size_t kAlignment = 64;

  explicit Carver(std::byte* base) : base_(base) {}

  template <class T>
  std::span<T> take(size_t count) {
    used_ = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    T* first = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += count * sizeof(T);
    return {first, base_ == nullptr ? 0 : count};
  }

  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

/// A key and where its candidate stands, for sorting.
struct SortSlot {
  uint64_t index;
  uint64_t key;
};

/// Numbers of a candidate that are laid out for vectors: corners, area, whether it lives.
inline constexpr size_t kBoxLanes = 6;
/// The same of a turned one: corners of its bounds, area, shape, whether it lives.
inline constexpr size_t kTurnedLanes = 12;
/// Each array is as long as whole vectors of up to so many numbers, and so begins where one may.
inline constexpr size_t kLanePadding = 64;
constexpr size_t padded(size_t boxes) { return (boxes / kLanePadding + 1) * kLanePadding; }

/// Boxes of which a word holds a bit each, and the words for so many.
inline constexpr size_t kWordBits = 64;
constexpr size_t bit_words(size_t boxes) { return (boxes + kWordBits - 1) / kWordBits; }

/// How many numbers and words NMS works in.
size_t nms_lanes(const Plan& plan);
size_t nms_words(const Plan& plan);

/// What NMS works in beside its results; nothing where the method needs it not.
struct NmsScratch {
  std::span<float> lanes;     // kBoxLanes or kTurnedLanes arrays of one length, from a cache line's
                              // begin on
  std::span<uint64_t> words;  // bits of boxes, their places, numbers of a class or a cell
  std::span<uint32_t> owners;  // of candidates: which box took each, where points want to know
  Stop stop{};                 // ends it early
};

/// The buffers of one run. Contents are undefined between frames but for `detections`.
struct Scratch {
  std::span<Candidate> candidates;   // rules.candidates: one image's, refilled for each
  std::span<SortSlot> slots;         // the same
  std::span<Candidate> ordered;      // the same
  std::span<uint32_t> kept;          // kept_capacity: indices into ordered
  NmsScratch nms;                    // nms_lanes, nms_words
  std::span<Detection> detections;   // images x kept_capacity
};

/// Lists the buffers that a plan needs.
Scratch carve(Carver& carver, const Plan& plan);

/// Owns the blob of one Processor; by itself an empty one.
class Workspace {
 public:
  /// kNoResource when the memory is not to be had.
  static Result<Workspace> create(const Plan& plan);

  const Scratch& scratch() const { return scratch_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* blob) const;
  };
  std::unique_ptr<std::byte, Free> blob_;
  size_t bytes_ = 0;
  Scratch scratch_;
};

}  // namespace keepbox
