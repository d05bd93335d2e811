// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices whose memory tensors can be in, for code that does not depend on which one.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/tensor.h"

namespace keepbox {

/// Owns a reference to a context of a device, such as a GstCudaContext. Empty: no context.
class DeviceContext {
 public:
  DeviceContext() = default;
  DeviceContext(const DeviceContext& other) : DeviceContext(held(other.get())) {}
  DeviceContext(DeviceContext&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  DeviceContext& operator=(DeviceContext other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~DeviceContext() { gst_clear_object(&object_); }

  /// @param object transfer full.
  static DeviceContext taken(gpointer object) {
    DeviceContext out;
    out.object_ = static_cast<GstObject*>(object);
    return out;
  }
  static DeviceContext held(gpointer object) {
    return taken(object != nullptr ? gst_object_ref(object) : nullptr);
  }

  /// Returns the context of data in a single device memory; empty for any other data, and for
  /// nullptr.
  static DeviceContext of(GstBuffer* data);

  GstObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const DeviceContext&, const DeviceContext&) = default;

 private:
  GstObject* object_ = nullptr;
};

/// Makes a context current on this thread for its lifetime; an empty one changes nothing.
class DeviceScope {
 public:
  explicit DeviceScope(const DeviceContext& context);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

  /// Returns kNoResource if the context cannot be made current.
  const Status& status() const { return status_; }

 private:
  bool pushed_ = false;
  Status status_;
};

/// Copies tensors to a device.
class Uploader {
 public:
  virtual ~Uploader() = default;
  /// Returns memory that is being filled, without waiting. Transfer full. An empty buffer is
  /// returned unchanged.
  virtual Result<GstBuffer*> upload(GstBuffer* data) const = 0;
};

/// The device that an element shares with others in its pipeline. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;

  /// Returns the memory of its tensors; kSystem without a device.
  virtual MemorySpace memory() const = 0;

  /// Returns the current context, or else one from neighbours or the application, or else a new
  /// one. kNoResource without a device.
  /// @param index of the device, or -1 for any. @param hint alternative for the user without it.
  virtual Result<DeviceContext> ensure(GstElement* element, int index, const std::string& hint) = 0;
  /// Uses a frame's context from now on.
  virtual void adopt(const DeviceContext& context) = 0;
  void clear() { adopt({}); }

  /// Takes the pipeline's context, in set_context(), if none is held and the index matches.
  virtual void offer(GstElement* element, GstContext* context, int index) = 0;
  /// True if a CONTEXT query was answered.
  virtual bool answer(GstElement* element, GstQuery* query) = 0;

  virtual Result<std::unique_ptr<Uploader>> make_uploader(const DeviceContext& context) = 0;
};

/// Makes the device of this build for an element.
std::unique_ptr<Device> make_device();

}  // namespace keepbox
