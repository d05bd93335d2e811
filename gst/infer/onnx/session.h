// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that ONNX Runtime has loaded: its inputs and outputs, and single runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/onnx.h"
#include "gst/infer/onnx/runtime.h"

namespace keepbox {

using OnnxValue = OnnxOwned<OrtValue>;
using OnnxRunOptions = OnnxOwned<OrtRunOptions>;

class OnnxSession final : public ModelSession {
 public:
  /// @param stream the cudaStream_t for provider cuda. @param model bytes to load in place of the
  /// file's; nullptr: none. Errors name the file.
  static Result<std::unique_ptr<OnnxSession>> open(const SessionSpec& spec, void* stream = nullptr,
                                                   const std::string* model = nullptr);

  const OnnxRuntime& runtime() const { return *runtime_; }
  OrtSession* get() const { return session_.get(); }
  const ModelDeclaration& declaration() const override { return declaration_; }
  Result<std::unique_ptr<ModelRuns>> runs() const override;

  /// Wraps memory in a tensor without owning it. @param memory nullptr: system memory.
  Result<OnnxValue> tensor(void* data, size_t bytes, DataType type, std::span<const int64_t> dims,
                           const OrtMemoryInfo* memory = nullptr) const;
  /// Returns the tensor that the runtime made for an output. Fails if it is not a numeric tensor.
  Result<ModelOutput> output(OnnxValue value, const ModelPort& port) const;

  /// Makes options for runs.
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

}  // namespace keepbox
