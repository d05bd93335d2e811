// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface to a runtime: a loaded model and its runs on tensors in system memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/sessionspec.h"

namespace keepbox {

/// A library that runs models. It stays loaded. Thread-safe.
class ModelRuntime {
 public:
  virtual ~ModelRuntime() = default;

  /// Returns its name and version, such as "ONNX Runtime 1.21.0".
  virtual const std::string& name() const = 0;
  /// True if it was built with a provider, by the name that the library has for it.
  virtual bool has_provider(const std::string& name) const = 0;

  /// Frees a tensor that the runtime made. @param tensor nullptr: none.
  virtual void release(void* tensor) const = 0;
};

/// Frees a tensor of a runtime.
struct TensorRelease {
  const ModelRuntime* runtime = nullptr;

  void operator()(void* tensor) const { runtime->release(tensor); }
};

/// A tensor of a runtime, in its own representation.
using RuntimeTensor = std::unique_ptr<void, TensorRelease>;

/// An output of a run, in memory of the runtime. It must not outlive the session.
struct ModelOutput {
  RuntimeTensor value = nullptr;
  std::byte* data = nullptr;
  size_t bytes = 0;
  DataType type = DataType::kFloat32;
  Shape shape;
};

/// A run with inputs that are bound once and read by each call. For one thread at a time.
class BoundRun {
 public:
  virtual ~BoundRun() = default;

  /// Binds memory as an input, without a copy. @param input its number in the model's declaration.
  /// @param data outlives the object.
  virtual Status bind(size_t input, std::span<std::byte> data, DataType type,
                      std::span<const int64_t> dims) = 0;

  /// Runs the model. Returns its outputs in the order of the declaration. @pre all inputs are
  /// bound.
  virtual Result<std::vector<ModelOutput>> run() const = 0;
};

/// The runs of one user of a session, which are ended together.
class ModelRuns {
 public:
  virtual ~ModelRuns() = default;

  /// Makes a run without inputs. These runs outlive it.
  virtual std::unique_ptr<BoundRun> make() const = 0;

  /// Ends the current run, and makes later ones fail while `on`. From any thread.
  virtual void terminate(bool on) = 0;
};

/// A model that a runtime has loaded. Thread-safe.
class ModelSession {
 public:
  virtual ~ModelSession() = default;

  /// Returns inputs, outputs and metadata. There is at least one output.
  virtual const ModelDeclaration& declaration() const = 0;

  /// Returns the runs of a new user. The session outlives them.
  virtual Result<std::unique_ptr<ModelRuns>> runs() const = 0;
};

}  // namespace keepbox
