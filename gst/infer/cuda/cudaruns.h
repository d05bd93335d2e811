// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions on a device: prepared, bound to device memory, run by graphs.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/session.h"
#include "gst/infer/run/batches.h"
#include "gst/infer/run/inferencer.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

// A session of ONNX Runtime on a stream of a GPU.

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

// Runs of a model on a GPU for batches of one size, replayed from graphs if possible.

/// The output of a run for all its pictures. One of value and memory is set.
struct CudaOutput {
  OnnxValue value{nullptr, nullptr};  // the runtime's memory
  CUdeviceptr data = 0;               // of a graph: valid until the next run starts
  DataType type = DataType::kFloat32;
  Shape shape;
  size_t bytes = 0;
};

/// Bindings and graphs of one size. Functions are called in the context and by one thread at a
/// time, except wait().
class CudaRuns {
 public:
  /// Binds inputs, and captures a graph per input if the session allows graphs: an error then means
  /// that the model cannot be captured, if a session without graphs works. kUnsupported if an
  /// output has no part per picture.
  /// @param session runs no other size: convolutions are tuned for one, and their kernels in older
  /// graphs would be unloaded. It outlives the runs.
  /// @param batch number of pictures per run.
  /// @param inputs of that many pictures each, by slot.
  static Result<std::unique_ptr<CudaRuns>> create(const CudaSession& session,
                                                  const ModelFacts& facts, unsigned batch,
                                                  std::span<const CUdeviceptr> inputs);

  unsigned batch() const { return batch_; }

  /// Enqueues a run of an input, after events. Outputs are on the session's stream.
  /// @param ready one per picture, at most batch(); may contain nullptr.
  Result<std::vector<CudaOutput>> run(size_t slot, std::span<void* const> ready,
                                      const OrtRunOptions* options);
  /// Marks the end of a slot's run, after whatever was enqueued since.
  Status end(size_t slot);

  /// Waits until a slot's last run is complete.
  Status wait(size_t slot);
  /// Returns the time of the slot's last run; 0 if there is none. @pre it is complete.
  double microseconds(size_t slot) const;

  /// Returns the pictures per second, by some runs. Waits for them.
  Result<double> rate();

 private:
  struct Slot {
    OnnxValue input{nullptr, nullptr};
    OnnxBinding binding{nullptr, nullptr};
    CudaGraph graph;
    CudaEvent begun, done;
    bool used = false;
  };
  struct Extra {  // a small input other than the picture
    DeviceMemory memory;
    OnnxValue value{nullptr, nullptr};
  };
  struct Fixed {  // an output of the graphs
    DeviceMemory memory;
    OnnxValue value{nullptr, nullptr};
    DataType type;
    Shape shape;
    size_t bytes;
  };

  CudaRuns(const CudaSession& session, const ModelFacts& facts, unsigned batch)
      : session_(session), facts_(facts), batch_(batch) {}
  Result<Slot> make_slot(CUdeviceptr input);
  Status make_extras();
  Status bind_extras(OrtIoBinding* binding) const;
  Status capture_all();
  Status make_outputs(std::span<const ModelOutput> like);
  Status capture(Slot& slot, const OrtRunOptions* options);
  Status check(std::span<const ModelOutput> outputs) const;
  Status start(Slot& slot, const OrtRunOptions* options);

  const CudaSession& session_;
  const ModelFacts facts_;
  const unsigned batch_;
  std::vector<Extra> extras_;
  std::vector<Fixed> outputs_;
  std::vector<Slot> slots_;
};

// Outputs of runs as GstBuffers in CUDA memory, with their ready events.

/// Memory for tensors that were handed out. Thread-safe, except take().
class CudaTensorPool {
 public:
  struct PooledMemory {
    DeviceMemory memory;  // empty if the runtime's memory was handed out
    CudaEvent ready;
  };

  explicit CudaTensorPool(CudaContext context) : context_(std::move(context)) {}

  /// Returns a free piece of that size, or a new one; with 0 bytes it has only an event.
  Result<PooledMemory> take(size_t bytes);
  void give_back(PooledMemory piece);

 private:
  CudaContext context_;
  std::mutex lock_;
  std::vector<PooledMemory> free_;
};

/// An output whose memory lives as long as its tensors.
class CudaTensor {
 public:
  /// Enqueues a copy of a graph's output, or takes the runtime's memory, and records the event
  /// after which it is complete. @param owner outlives the tensors; it owns session and pieces.
  static Result<std::shared_ptr<CudaTensor>> create(std::shared_ptr<void> owner,
                                                    CudaTensorPool& pieces,
                                                    const CudaSession& session, CudaOutput output);
  /// Enqueues copies of tensors on a stream, one after the other, into memory of their own.
  static Result<std::shared_ptr<CudaTensor>> joined(std::shared_ptr<void> owner,
                                                    CudaTensorPool& pieces,
                                                    const CudaSession& session, CUstream stream,
                                                    std::vector<OwnedBuffer> parts);
  ~CudaTensor();

  const Shape& shape() const { return shape_; }
  size_t bytes() const { return bytes_; }
  DataType type() const { return type_; }

  /// Wraps a range of bytes in a buffer.
  static Result<OwnedBuffer> wrapped(const std::shared_ptr<CudaTensor>& tensor, size_t offset,
                                     size_t bytes);

 private:
  CudaTensor(std::shared_ptr<void> owner, CudaTensorPool& pieces, const CudaSession& session)
      : owner_(std::move(owner)), pieces_(pieces), session_(session) {}

  std::shared_ptr<void> owner_;
  CudaTensorPool& pieces_;
  const CudaSession& session_;
  CudaTensorPool::PooledMemory piece_;
  OnnxValue value_{nullptr, nullptr};
  std::vector<OwnedBuffer> parts_;  // that are being copied
  CUdeviceptr data_ = 0;
  DataType type_ = DataType::kFloat32;
  Shape shape_;
  size_t bytes_ = 0;
};

}  // namespace keepbox
