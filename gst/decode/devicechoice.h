// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the memory and device on which a decoder decodes, and falls back to the CPU.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/run/backend.h"
#include "gst/decode/settings/decodeprops.h"
#include "gst/tensors/device.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// The choice of one decoder. Only device() may be used from other threads.
class DeviceChoice {
 public:
  /// @param element posts the messages, and outlives this.
  explicit DeviceChoice(GstElement* element, std::shared_ptr<Device> device = make_device())
      : element_(element), device_(std::move(device)) {}

  /// Takes backend= and cuda-device-id=. A changed backend may use a device that failed before.
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

}  // namespace keepbox
