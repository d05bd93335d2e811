// SPDX-License-Identifier: LGPL-2.1-or-later
// ONNX Runtime, found when it is first wanted: nothing links it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "gst/infer/onnxapi.h"

namespace keepbox {

/// An object of the runtime.
template <class T>
using OnnxOwned = std::unique_ptr<T, void (*)(T*)>;

/// The library, once it is loaded: for good, since its threads and its devices' memory are not to be
/// unloaded. Thread-safe.
class OnnxRuntime {
 public:
  /// @param library a file or a name that ld.so knows; empty: that of KEEPBOX_ONNXRUNTIME in the
  /// environment, else libonnxruntime.so.1 or of a version that a distribution numbers.
  /// kNoResource when it is missing, is no ONNX Runtime, or an older one than 1.16.
  static Result<const OnnxRuntime*> load(const std::string& library);

  const ort::Api& api() const { return api_; }
  ort::Env* env() const { return env_; }
  /// "ONNX Runtime 1.21.0"
  const std::string& name() const { return name_; }
  /// Providers that it was built with, as "CPUExecutionProvider".
  const std::vector<std::string>& providers() const { return providers_; }
  bool has_provider(const std::string& name) const;

  /// nullptr: none. Takes what a call returned, and gives what it says as one line.
  Status check(ort::Status* status, std::string expected, std::string hint) const;

  /// Ends a run with these options, and those to come as long as `on`. From any thread.
  void terminate(ort::RunOptions* options, bool on) const;

  /// Of the runtime's default allocator; frees what it gave.
  std::string taken_text(char* text) const;
  ort::Allocator* allocator() const { return allocator_; }

 private:
  OnnxRuntime(const ort::Api& api, std::string version)
      : api_(api), name_("ONNX Runtime " + std::move(version)) {}
  static Result<const OnnxRuntime*> open(LateLibrary& library);
  Status start();

  ort::Api api_;
  std::string name_;
  ort::Env* env_ = nullptr;
  ort::Allocator* allocator_ = nullptr;
  std::vector<std::string> providers_;
};

}  // namespace keepbox
