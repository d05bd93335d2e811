// SPDX-License-Identifier: LGPL-2.1-or-later
// The processor of a stream's tensors, in the device context that its memory needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/run/processor.h"
#include "gst/tensors/device.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// A plan, and the source of the tensors that it reads.
struct PlannedTensors {
  Plan plan;  // `reads` are indices in listed()
  SharedProvenance source;
};

/// Backend, memory and context of a processor.
struct ProcessorSite {
  Selection backend;
  MemorySpace memory = MemorySpace::kSystem;  // of the tensors
  DeviceContext memory_context;               // of its memory; empty for none
  std::shared_ptr<ThreadPool> threads;        // may be nullptr
  const std::atomic<bool>* stop = nullptr;    // see Processor::stop_by(); outlives it

  /// Makes a processor. @pre the memory_context is current.
  Result<Processor> make(const Plan& plan) const;
};

/// True if processors at both sites decode the same memory in the same way.
bool are_alike(const ProcessorSite& a, const ProcessorSite& b);

/// Numbers that no other processor of this process has.
struct ProcessorNumber {
  uint64_t made = 0;   // changes with a new processor
  uint64_t tuned = 0;  // changes with its settings, too
  friend bool operator==(const ProcessorNumber&, const ProcessorNumber&) = default;
};

/// A processor, or none.
class StreamProcessor {
 public:
  StreamProcessor() = default;
  StreamProcessor(const StreamProcessor&) = delete;
  StreamProcessor& operator=(const StreamProcessor&) = delete;
  ~StreamProcessor() { drop(); }

  /// Makes the processor. @param site its memory_context is current.
  Status make(const PlannedTensors& planned, ProcessorSite site);
  /// Destroys the processor in its context, which outlives it.
  void drop();

  explicit operator bool() const { return processor_.has_value(); }
  const Processor& operator*() const { return *processor_; }
  const Processor* operator->() const { return &*processor_; }
  /// True if there is a processor, and it decodes images of objects.
  bool of_objects() const { return processor_ && source_ != nullptr && source_->objects; }
  /// Returns where it runs. @pre there is one
  const ProcessorSite& site() const { return site_; }
  const ProcessorNumber& number() const { return number_; }
  /// Returns the source of its tensors; nullptr if unknown.
  const SharedProvenance& source() const { return source_; }
  /// True if there is a processor, and it runs on a device.
  bool on_device() const;

  /// True if there is a processor, and its plan is valid for the listed tensors of that producer.
  bool fits(const FrameTensors& tensors) const;
  /// True if the mapped tensors are in the memory that it reads. @pre there is one
  bool reaches(const FrameTensors& tensors) const;
  /// True if it can be used instead of a processor for a new plan, because values decide neither's
  /// units yet.
  /// @param tensors mapped for the new plan.
  bool replaces(const PlannedTensors& planned, const FrameTensors& tensors) const;

  /// Updates the picture's position in the model input, which may change per frame. @pre fits()
  void follow(const FrameTensors& tensors);
  /// Sets the place of the next image in a picture of its own.
  void place(const Letterbox& letterbox) { processor_->refit(letterbox, {}, letterbox.frame); }
  void set_source(SharedProvenance source) { source_ = std::move(source); }

  /// Changes thresholds and classes from the next frame.
  Status retune(const Settings& settings);
  /// Decodes the mapped tensors.
  Status run(const FrameTensors& tensors);

 private:
  std::optional<Processor> processor_;
  SharedProvenance source_;
  ProcessorSite site_;
  ProcessorNumber number_;
};

}  // namespace keepbox
