// SPDX-License-Identifier: LGPL-2.1-or-later
// A loaded model: its inputs and outputs, and single runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/externaldata.h"
#include "gst/infer/onnx/onnxruntime.h"

namespace keepbox {

/// Rules by which pictures of several frames run together.
struct BatchRules {
  unsigned size = 1;        // maximum number of pictures per run; 0: settled by measurement
  unsigned timeout_ms = 0;  // time that a batch waits to be full
  unsigned parallel = 0;    // sessions of a model that cannot run batches; 0: settled by need
  bool open = true;         // models with a fixed batch of 1 may be opened

  auto operator<=>(const BatchRules&) const = default;
};

/// The parameters of a session; equal specs are the same session.
struct SessionSpec {
  std::string file;
  std::string runtime_library;
  std::string provider = "cpu";  // "cpu", "cuda", or another name of the runtime's
  std::map<std::string, std::string> provider_options;  // keys of the runtime's
  int device = 0;                                       // for cuda
  unsigned threads = 0;                                 // for cpu; 0: chosen by the runtime
  unsigned width = 0, height = 0;  // of dynamic inputs, which are bound with one size
  bool graph = false;              // cuda: launches are captured once and replayed
  unsigned in_flight = 1;          // cuda: maximum number of frames in flight
  BatchRules batch;
  unsigned ahead = 0;            // frames that an element holds until their run is complete
  unsigned pictures = 1;         // per run of the session, on a GPU
  unsigned lane = 0;             // distinguishes sessions of a model that cannot run batches
  std::vector<FileStamp> files;  // identify the model's content

  auto operator<=>(const SessionSpec&) const = default;
};

/// Checks that there is a regular file. Errors name it.
Status check_model_file(const std::string& file);

using OnnxValue = OnnxOwned<OrtValue>;
using OnnxRunOptions = OnnxOwned<OrtRunOptions>;

/// A tensor that the runtime owns.
struct OnnxOutput {
  OnnxValue value;
  std::byte* data = nullptr;
  size_t bytes = 0;
  DataType type = DataType::kFloat32;
  Shape shape;
};

class OnnxSession {
 public:
  /// @param stream the cudaStream_t for provider cuda. @param model bytes to load in place of the
  /// file's; nullptr: none. Errors name the file.
  static Result<std::unique_ptr<OnnxSession>> open(const SessionSpec& spec, void* stream = nullptr,
                                                   const std::string* model = nullptr);

  const OnnxRuntime& runtime() const { return *runtime_; }
  OrtSession* get() const { return session_.get(); }
  const SessionSpec& spec() const { return spec_; }
  /// Returns inputs, outputs and metadata. There is at least one output.
  const ModelClaims& claims() const { return claims_; }

  /// Wraps memory in a tensor without owning it. @param memory nullptr: system memory.
  Result<OnnxValue> tensor(void* data, size_t bytes, DataType type, std::span<const int64_t> dims,
                           const OrtMemoryInfo* memory = nullptr) const;
  /// Returns the tensor that the runtime made for an output. Fails if it is not a numeric tensor.
  Result<OnnxOutput> output(OnnxValue value, const ModelPort& port) const;

  /// Makes options for runs.
  Result<OnnxRunOptions> run_options() const;

  /// Runs the model on tensors in system memory. Thread-safe.
  /// @param inputs all of claims().inputs in their order.
  Result<std::vector<OnnxOutput>> run(std::span<const OrtValue* const> inputs,
                                      const OrtRunOptions* options) const;

  /// Converts an error of the runtime about this model.
  Status check(OrtStatus* status, const std::string& subject) const;

 private:
  OnnxSession(const OnnxRuntime& runtime, SessionSpec spec);
  Status load(void* stream, const std::string* model);
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
  ModelClaims claims_;
  std::vector<const char*> input_names_, output_names_;  // point into claims_
};

}  // namespace keepbox
