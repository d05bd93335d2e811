// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory of a frame, in one block divided by carve(), which lists all buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "core/formula/box.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Returns aligned parts of a block. With a null base it only measures.
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

/// Sort key and the index of its candidate.
struct SortSlot {
  uint64_t index;
  uint64_t key;
};

/// Arrays per candidate in vector layout: corners, area, validity.
inline constexpr size_t kBoxLanes = 6;
/// Arrays per oriented candidate: corners of its bounds, area, shape, validity.
inline constexpr size_t kOrientedLanes = 12;
/// Array sizes are multiples of this many values, so that each array is aligned for vectors.
inline constexpr size_t kLanePadding = 64;
constexpr size_t padded(size_t boxes) { return (boxes / kLanePadding + 1) * kLanePadding; }

/// Number of boxes per word of a bit mask.
inline constexpr size_t kWordBits = 64;
constexpr size_t bit_words(size_t boxes) { return (boxes + kWordBits - 1) / kWordBits; }

/// Returns the number of floats for NMS; nms_words() returns that of words.
size_t nms_lanes(const Plan& plan);
size_t nms_words(const Plan& plan);

/// Scratch space for NMS; empty if the method needs none.
struct NmsScratch {
  std::span<float> lanes;      // kBoxLanes or kOrientedLanes equal arrays, aligned to cache lines
  std::span<uint64_t> words;   // bits of boxes, positions, counters of a class or a cell
  std::span<uint32_t> owners;  // per candidate the box that absorbed it, for mean payloads
  Stop stop{};                 // ends it early
};

/// Buffers of one run. Contents are undefined between frames, except for `detections`.
struct Scratch {
  std::span<Candidate> candidates;  // rules.candidates: of one image, reused for each image
  std::span<SortSlot> slots;        // rules.candidates
  std::span<Candidate> ordered;     // rules.candidates
  std::span<uint32_t> kept;         // kept_capacity: indices into ordered
  NmsScratch nms;                   // nms_lanes, nms_words
  std::span<Detection> detections;  // images x kept_capacity
};

/// Divides the memory into the buffers of a plan.
Scratch carve(Carver& carver, const Plan& plan);

/// Owns the memory of one Processor; empty by default.
class Workspace {
 public:
  /// Returns kNoResource if memory is not available.
  static Result<Workspace> create(const Plan& plan);

  /// Divides the memory for another plan, and allocates it only if there is too little. Returns
  /// kNoResource if memory is not available.
  Status fit(const Plan& plan);

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
