// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions of a model behind an interface, without the types of ONNX Runtime.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/scratch.h"
#include "core/base/tensor.h"
#include "gst/infer/facts/modelfacts.h"

namespace keepbox {

// The parameters of a model's session, in any runtime.

/// Rules by which pictures of several frames run together.
struct BatchRules {
  unsigned size = 1;        // maximum number of pictures per run; 0: settled by measurement
  unsigned timeout_ms = 0;  // time that a batch waits to be full

  auto operator<=>(const BatchRules&) const = default;
};

/// Identifies the content of a file under a path.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, modified = 0, changed = 0;  // times in nanoseconds

  auto operator<=>(const FileStamp&) const = default;
};

/// The parameters of a session; equal specs are the same session.
struct SessionSpec {
  std::string file;
  std::string provider = "cpu";  // "cpu", "cuda", or another name of the runtime's
  std::map<std::string, std::string> provider_options;  // keys of the runtime's
  int device = 0;                                       // for cuda
  unsigned threads = 0;                                 // for cpu; 0: chosen by the runtime
  unsigned width = 0, height = 0;  // of dynamic inputs, which are bound with one size
  bool graph = false;              // cuda: launches are captured once and replayed
  BatchRules batch;
  unsigned ahead = 0;            // frames that an element holds until their run is complete
  unsigned lane = 0;             // distinguishes sessions of a model that cannot run batches
  std::vector<FileStamp> files;  // identify the model's content

  auto operator<=>(const SessionSpec&) const = default;
};

// The interface to a runtime: a loaded model and its runs on tensors in system memory.

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

// ONNX models and their runtime, for code that knows neither: the only header of this folder for
// sources outside of it that run models in system memory.

/// Loads ONNX Runtime on first use; see OnnxRuntime::load().
Result<const ModelRuntime*> load_onnx_runtime();

/// Opens a session for tensors in system memory. @param model bytes to load in place of the file's;
/// nullptr: none. Errors name the file.
Result<std::unique_ptr<ModelSession>> open_onnx_session(const SessionSpec& spec,
                                                        const std::string* model = nullptr);

/// Checks that there is a regular file. Errors name it.
Status check_model_file(const std::string& file);

/// Returns the stamps of a model and its weight files; fewer if they cannot be read, which is then
/// reported by the code that opens them.
std::vector<FileStamp> file_stamps(const std::string& model);

/// Returns a copy of an ONNX model that was exported for one picture and runs batches, if its
/// results in a batch are the same. kUnsupported if not. Loads the model twice on the CPU.
/// @param spec of the model, on any provider.
Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts);

// A run of some pictures in system memory.

/// A run for a number of pictures: it reads the pictures' memory and values of other inputs.
class HostRun {
 public:
  /// @param runs of the session, which they outlive. @param pictures outlives the object.
  static Result<HostRun> create(const ModelSession& session, const ModelRuns& runs,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch);

  Result<std::vector<ModelOutput>> run() const { return run_->run(); }

 private:
  std::vector<ScratchBuffer<std::byte>> extras_;  // values of extra inputs
  std::unique_ptr<BoundRun> run_;                 // ends first
};

}  // namespace keepbox
