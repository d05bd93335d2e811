// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs of a model on a GPU for batches of one size, replayed from graphs if possible.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gst/infer/cuda/cudasession.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/inferencer.h"

namespace keepbox {

/// The output of a run for all its pictures. One of value and memory is set.
struct CudaOutput {
  RuntimeTensor value = nullptr;  // the runtime's memory
  CUdeviceptr data = 0;           // of a graph: valid until the next run starts
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

}  // namespace keepbox
