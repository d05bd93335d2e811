// SPDX-License-Identifier: LGPL-2.1-or-later
// Device and processor of a stream's frames.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/run/backend.h"
#include "core/run/processor.h"
#include "gst/decode/properties.h"
#include "gst/tensors/device.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

// Chooses the memory and device on which a decoder decodes, and falls back to the CPU.

/// The choice of one decoder. Only device() may be used from other threads.
class DeviceChoice {
 public:
  /// @param element posts the messages, and outlives this.
  explicit DeviceChoice(GstElement* element, std::shared_ptr<Device> device = make_device())
      : element_(element), device_(std::move(device)) {}

  /// Takes backend= and device-id=. A changed backend may use a device that failed before.
  void set_props(const DecodeProps& props);

  /// Forgets failures, for a new stream.
  void start();
  /// Makes the context of a device that is set. kNoResource without one.
  Status check();
  void stop() { device_->clear(); }

  /// True if the backend is not set: a device that fails is replaced by the CPU.
  bool automatic() const { return in_force_ == "auto"; }
  /// Returns the memory that tensors are decoded in, if they are there.
  MemorySpace wanted_memory() const;

  /// Maps listed tensors for reading, and notes if a device fails to.
  Status map(FrameTensors& tensors, std::span<const uint32_t> which, MemorySpace preferred);
  /// True if map() copied tensors from a device to the host since begin_frame().
  bool downloaded() const { return downloaded_; }
  void begin_frame() { downloaded_ = false; }

  /// Returns the context for mapped tensors: their own, one for a device that is set, or none.
  Result<DeviceContext> context_for(const FrameTensors& tensors);
  /// Returns the backend for a plan; the reason includes why it is not a device.
  /// @param memory of the tensors.
  Result<Selection> select(const Plan& plan, MemorySpace memory) const;

  /// Notes that no device can run the plan, until forget_plan().
  void set_unsupported(const Error& error) { unsupported_ = error.message(); }
  void forget_plan() { unsupported_.clear(); }
  /// Logs why the plan runs on the CPU, if that changed.
  void log_unsupported();

  /// Avoids devices from now on, until retry(), start(), or another backend.
  void avoid(const Error& error) { avoided_ = error.message(); }
  void retry() { avoided_.clear(); }
  /// Avoids devices for the rest of the stream, with an element warning.
  void leave(const Error& error);

  /// True if the last error was a device failure, which would repeat for every frame.
  bool failed() const { return failed_; }
  void clear_failed() { failed_ = false; }
  /// Notes if the status of a device that is set is a failure of the device.
  void note_failure(const Status& status);

  /// True if a device is set.
  bool is_forced() const { return is_device(in_force_); }
  Device& device() { return *device_; }
  const std::shared_ptr<Device>& shared() const { return device_; }

 private:
  static bool is_device(std::string_view backend);

  GstElement* element_;
  std::shared_ptr<Device> device_;
  std::string chosen_ = "auto";    // as set
  std::string in_force_ = "auto";  // as the environment replaces it
  int index_ = -1;                 // of the device; -1: any
  std::string unsupported_;        // why no device can run the plan
  std::string avoided_;            // why devices are avoided in this stream
  std::string logged_;             // the last `unsupported_` in the log
  bool failed_ = false;
  bool downloaded_ = false;
};

// The processor of a stream's tensors, in the device context that its memory needs.

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
