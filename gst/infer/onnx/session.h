// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that ONNX Runtime has loaded: its parameters, its inputs and outputs, and single runs.
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
#include "gst/infer/onnx/runtime.h"

struct OrtMemoryInfo;
struct OrtSession;
struct OrtSessionOptions;
struct OrtValue;

namespace keepbox {

// The parameters of a session.

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

/// Checks that there is a regular file. Errors name it.
Status check_model_file(const std::string& file);

/// Returns the stamps of a model and its weight files; fewer if they cannot be read, which is then
/// reported by the code that opens them.
std::vector<FileStamp> file_stamps(const std::string& model);

// A loaded model and its runs on tensors in system memory.

using OnnxValue = OnnxOwned<OrtValue>;
using OnnxRunOptions = OnnxOwned<OrtRunOptions>;

/// An output of a run, in memory of the runtime. It must not outlive the session.
struct ModelOutput {
  OnnxValue value{nullptr, nullptr};
  std::byte* data = nullptr;
  size_t bytes = 0;
  DataType type = DataType::kFloat32;
  Shape shape;
};

/// A model that the runtime has loaded. Thread-safe.
class OnnxSession {
 public:
  /// @param stream the cudaStream_t for provider cuda. @param model bytes to load in place of the
  /// file's; nullptr: none. Errors name the file.
  static Result<std::unique_ptr<OnnxSession>> open(const SessionSpec& spec, void* stream = nullptr,
                                                   const std::string* model = nullptr);

  const OnnxRuntime& runtime() const { return *runtime_; }
  OrtSession* get() const { return session_.get(); }
  /// Returns inputs, outputs and metadata. There is at least one output.
  const ModelDeclaration& declaration() const { return declaration_; }

  /// Wraps memory in a tensor without owning it. @param memory nullptr: system memory.
  Result<OnnxValue> tensor(void* data, size_t bytes, DataType type, std::span<const int64_t> dims,
                           const OrtMemoryInfo* memory = nullptr) const;
  /// Returns the tensor that the runtime made for an output. Fails if it is not a numeric tensor.
  Result<ModelOutput> output(OnnxValue value, const ModelPort& port) const;

  /// Makes options for the runs of one user, which OnnxRuntime::terminate() ends together.
  Result<OnnxRunOptions> run_options() const;

  /// Runs the model on tensors in system memory. Thread-safe.
  /// @param inputs all of declaration().inputs in their order.
  Result<std::vector<ModelOutput>> run(std::span<const OrtValue* const> inputs,
                                       const OrtRunOptions* options) const;

  /// Converts an error of the runtime about this model.
  Status check(OrtStatus* status, const std::string& subject) const;

 private:
  OnnxSession(const OnnxRuntime& runtime, SessionSpec spec);
  Status load(void* stream, const std::string* model);
  Status set_threads(OrtSessionOptions* options) const;
  Status create(OrtSessionOptions* options, const std::string* model);
  Status describe();
  Result<ModelPort> port(bool input, size_t index) const;
  void add_output(ModelPort port);
  void take_batch();
  Status read_metadata();

  const OnnxRuntime* runtime_;
  SessionSpec spec_;
  OnnxOwned<OrtSession> session_;
  OnnxOwned<OrtMemoryInfo> host_;
  ModelDeclaration declaration_;
  std::vector<const char*> input_names_, output_names_;  // point into declaration_
};

/// A run for a number of pictures in system memory: it reads the pictures' memory and values of
/// other inputs. For one thread at a time.
class HostRun {
 public:
  /// @param session outlives the object, as do its options and the pictures.
  static Result<HostRun> create(const OnnxSession& session, const OrtRunOptions* options,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch);

  /// Returns the model's outputs in the order of the declaration.
  Result<std::vector<ModelOutput>> run() const { return session_->run(inputs_, options_); }

 private:
  Status bind(size_t input, std::span<std::byte> data, DataType type,
              std::span<const int64_t> dims);

  const OnnxSession* session_ = nullptr;
  const OrtRunOptions* options_ = nullptr;
  std::vector<ScratchBuffer<std::byte>> extras_;  // values of extra inputs
  std::vector<OnnxValue> values_;
  std::vector<const OrtValue*> inputs_;  // the same, by index
};

}  // namespace keepbox
