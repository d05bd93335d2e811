// SPDX-License-Identifier: LGPL-2.1-or-later
// ONNX Runtime, loaded on first use; nothing links it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gst/base/library.h"

// Declared in the runtime's own header, which only sources of this folder and of cuda/ need.
struct OrtAllocator;
struct OrtApi;
struct OrtEnv;
struct OrtRunOptions;
struct OrtStatus;

namespace keepbox {

/// An object of the runtime.
template <class T>
using OnnxOwned = std::unique_ptr<T, void (*)(T*)>;

/// A library that is loaded and stays loaded, because its threads and device memory cannot be
/// unloaded. Thread-safe.
class OnnxRuntime {
 public:
  /// Loads the file, or the name that ld.so finds, of KEEPBOX_ONNXRUNTIME in the environment, or
  /// else libonnxruntime.so.1 or a name with a distribution's version number. kNoResource if it is
  /// missing, is not ONNX Runtime, or is older than 1.16.
  static Result<const OnnxRuntime*> load();

  const OrtApi& api() const { return *api_; }
  OrtEnv* env() const { return env_; }
  /// "ONNX Runtime 1.21.0"
  const std::string& name() const { return name_; }
  /// Providers that it was built with, such as "CPUExecutionProvider".
  const std::vector<std::string>& providers() const { return providers_; }
  /// True if it was built with a provider, by the name that the library has for it.
  bool has_provider(const std::string& name) const;

  /// Turns a Status into an error with its message on one line; nullptr is success. Takes
  /// ownership.
  Status check(OrtStatus* status, const std::string& what, std::string hint) const;

  /// Ends runs with these options, and makes later ones fail while `on`. From any thread.
  void terminate(OrtRunOptions* options, bool on) const;

  /// Copies a text of the default allocator and frees it.
  std::string taken_text(char* text) const;
  OrtAllocator* allocator() const { return allocator_; }

 private:
  OnnxRuntime(const OrtApi* api, std::string version)
      : api_(api), name_("ONNX Runtime " + std::move(version)) {}
  static Result<const OnnxRuntime*> open(LateLibrary& library);
  Status start();
  void register_schemas() const;

  const OrtApi* api_;
  std::string name_;
  OrtEnv* env_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
  std::vector<std::string> providers_;
};

// Keeps ONNX Runtime's lines about schemas out of a program's messages.

class SchemaLineFilter;

/// Drops lines that the calling thread writes to std::cerr and that begin with "Schema error", each
/// with the empty line after it, while the object exists. Everything else passes, whole and in
/// order; what other threads write passes at once. One object at a time. The standard library does
/// not protect std::cerr from a thread that writes while the filter is put there or taken away.
class WithoutSchemaLines {
 public:
  WithoutSchemaLines();
  WithoutSchemaLines(const WithoutSchemaLines&) = delete;
  WithoutSchemaLines& operator=(const WithoutSchemaLines&) = delete;
  ~WithoutSchemaLines();

 private:
  SchemaLineFilter* filter_ = nullptr;
};

}  // namespace keepbox
