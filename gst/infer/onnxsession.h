// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that is loaded: its inputs and outputs, and one run.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "gst/infer/externaldata.h"
#include "gst/infer/modelfacts.h"
#include "gst/infer/onnxruntime.h"

namespace keepbox {

/// What a session is made of; equal ones are the same session.
struct SessionSpec {
  std::string file;
  std::string runtime_library;
  std::string provider = "cpu";  // "cpu", "cuda", or another as the runtime calls it
  int device = 0;                // of cuda
  unsigned threads = 0;          // of cpu; 0: the runtime's choice
  unsigned width = 0, height = 0;  // of dynamic inputs: what is bound is of one size
  bool graph = false;            // cuda: the model's launches are captured once and replayed
  unsigned in_flight = 1;        // cuda: frames that may be under way
  std::vector<FileStamp> files;  // what it is read from: another content is another model

  auto operator<=>(const SessionSpec&) const = default;
};

using OnnxValue = OnnxOwned<ort::Value>;
using OnnxRunOptions = OnnxOwned<ort::RunOptions>;

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
  /// @param stream the cudaStream_t of provider cuda. Errors name the file.
  static Result<std::unique_ptr<OnnxSession>> open(const SessionSpec& spec, void* stream = nullptr);

  const OnnxRuntime& runtime() const { return *runtime_; }
  ort::Session* get() const { return session_.get(); }
  const SessionSpec& spec() const { return spec_; }
  /// Inputs, outputs and metadata. There is an output at least.
  const ModelClaims& claims() const { return claims_; }

  /// A tensor over memory that somebody else owns. @param memory nullptr: the host's.
  Result<OnnxValue> tensor(void* data, size_t bytes, DataType type, std::span<const int64_t> dims,
                           const ort::MemoryInfo* memory = nullptr) const;
  /// What the runtime made for an output. Fails for what is no tensor of numbers.
  Result<OnnxOutput> output(OnnxValue value, const ModelPort& port) const;

  /// Options of runs.
  Result<OnnxRunOptions> run_options() const;

  /// Runs the model on the host's tensors. Thread-safe.
  /// @param inputs all of claims().inputs in their order.
  Result<std::vector<OnnxOutput>> run(std::span<const ort::Value* const> inputs,
                                      const ort::RunOptions* options) const;

  /// An error of the runtime about this model.
  Status check(ort::Status* status, std::string expected) const;

 private:
  OnnxSession(const OnnxRuntime& runtime, SessionSpec spec);
  Status load(void* stream);
  Status append_provider(ort::SessionOptions* options, void* stream) const;
  Status append_cuda(ort::SessionOptions* options, void* stream) const;
  Status describe();
  Result<ModelPort> port(bool input, size_t index) const;
  void add_output(ModelPort port);
  Status read_metadata();

  const OnnxRuntime* runtime_;
  SessionSpec spec_;
  OnnxOwned<ort::Session> session_;
  OnnxOwned<ort::MemoryInfo> host_;
  ModelClaims claims_;
  std::vector<const char*> input_names_, output_names_;  // of claims_
};

}  // namespace keepbox
