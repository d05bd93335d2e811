// SPDX-License-Identifier: LGPL-2.1-or-later
// A session of ONNX Runtime on a stream of a GPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gst/infer/onnx/onnxsession.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

using OnnxBinding = OnnxOwned<OrtIoBinding>;

/// Work is enqueued on one stream. Functions are called by one thread at a time.
class CudaSession {
 public:
  /// @param context wraps the device's primary context, in which ONNX Runtime works.
  /// @param graph launches may be captured. @param model see OnnxSession::open().
  static Result<std::unique_ptr<CudaSession>> open(SessionSpec spec, CudaContext context,
                                                   bool graph, const std::string* model = nullptr);
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;
  /// Waits for all work, and destroys the session before its stream and its page-locked memory.
  ~CudaSession();

  const OnnxSession& onnx() const { return *session_; }
  const CudaContext& context() const { return context_; }
  CUstream stream() const { return stream_.get(); }
  /// A GstCudaStream for tensors, which waits for each run.
  GstMiniObject* tensors_stream() const { return tensors_stream_; }
  const OrtMemoryInfo* memory() const { return memory_.get(); }
  bool graph() const { return graph_; }

  Result<OnnxBinding> binding() const;
  Status bind_input(OrtIoBinding* binding, const std::string& name, const OrtValue* value) const;
  Status bind_output(OrtIoBinding* binding, const std::string& name, const OrtValue* value) const;
  /// Binds all outputs to memory that each run allocates. An output bound by a run stays bound, and
  /// the next run would write to it.
  Status rebind_outputs(OrtIoBinding* binding) const;
  /// Returns the outputs of the last run, in the model's order.
  Result<std::vector<ModelOutput>> outputs(OrtIoBinding* binding) const;

  /// Wraps device memory in a tensor without owning it.
  Result<OnnxValue> tensor(CUdeviceptr data, size_t bytes, DataType type,
                           std::span<const int64_t> dims) const;

  /// Returns options without a wait for the device and without the runtime's own graphs, which are
  /// made per thread and forbid allocations in all other threads during capture.
  Result<OnnxRunOptions> run_options() const;
  Status run(OrtIoBinding* binding, const OrtRunOptions* options) const;
  /// Captures a run instead of enqueuing it. @pre a run with that binding is complete.
  Result<CudaGraph> capture(OrtIoBinding* binding, const OrtRunOptions* options) const;

  /// Waits until all work on the stream is complete.
  void drain() const;

 private:
  explicit CudaSession(CudaContext context) : context_(std::move(context)) {}
  Status make_memory(int device);
  void keep_pinned(int device);
  Status enqueue(OrtIoBinding* binding, const OrtRunOptions* options) const;

  CudaContext context_;
  CudaStream stream_;
  GstMiniObject* tensors_stream_ = nullptr;
  std::unique_ptr<OnnxSession> session_;
  OnnxOwned<OrtMemoryInfo> memory_{nullptr, nullptr};
  OnnxOwned<OrtAllocator> pinned_{nullptr, nullptr};  // outlives the session
  OnnxRunOptions waiting_{nullptr, nullptr};          // with a wait for the device
  mutable unsigned runs_ = 0, unwaited_ = 0;          // the first is counted up to the first runs
  bool graph_ = false;
};

}  // namespace keepbox
