// SPDX-License-Identifier: LGPL-2.1-or-later
// A model on a GPU, shared by elements: their frames run one by one, or in batches once there are
// several.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gst/infer/cuda/cudaruns.h"
#include "gst/infer/run/batches.h"

namespace keepbox {

/// Maximum number of runs in flight, of single pictures or batches; others wait for the oldest.
inline constexpr unsigned kRunsInFlight = 2;

class CudaModel : public std::enable_shared_from_this<CudaModel> {
 public:
  /// @param context wraps the device's primary context.
  static Result<std::shared_ptr<CudaModel>> open(const SessionSpec& spec, CudaContext context);
  ~CudaModel();

  const ModelDeclaration& declaration() const { return declaration_; }
  const CudaContext& context() const { return context_; }
  const SessionSpec& spec() const { return spec_; }

  /// Adds an element with up to `frames` pending frames. The first call makes inputs, and graphs if
  /// the model allows them; later ones make room for larger batches, up to the largest that is
  /// worth it, in which time other elements' frames run as before. kInvalid if the input differs
  /// from the first one's. Without the lock.
  /// @param pictures per frame.
  Status join(const ModelFacts& facts, unsigned frames, unsigned pictures);
  /// @param pictures of all pending frames.
  void leave(unsigned pictures);

  /// Hold this lock while calling the functions below, and from next() to run().
  std::mutex& turn() { return turn_; }

  bool graph() const { return sizes_.back().session->graph(); }
  /// Maximum number of pictures per run.
  unsigned capacity() const { return sizes_.back().batch; }
  /// Returns the batches; nullptr while pictures run one by one.
  std::shared_ptr<Batches> batches();
  /// Returns why several pictures cannot run together; none if they can, or if it was not tried.
  const std::optional<Error>& no_batch_reason() const { return no_batch_reason_; }

  /// An input that is not in use any more.
  struct InputSlot {
    size_t slot;
    CUdeviceptr input;
    double model_us;  // of the previous run of this slot; 0 if none
  };
  Result<InputSlot> next();
  /// Enqueues a run after an event, and an event that is reached when its outputs are complete.
  Result<std::vector<InferredTensor>> run(size_t slot, CUevent input_ready,
                                          const OrtRunOptions* options);

  /// Returns options for an element's runs.
  Result<OnnxRunOptions> run_options() const { return sizes_.front().session->run_options(); }
  const OnnxRuntime& runtime() const { return sizes_.front().session->onnx().runtime(); }

  /// Waits until all runs that were started are complete.
  void drain() const {
    for (const Size& each : sizes_) each.session->drain();
  }

  /// Joins tensors by copies on the device. Without the lock.
  Result<std::vector<InferredTensor>> joined(std::vector<std::vector<InferredTensor>> parts);

  /// Returns the input of a place in a batch. Without the lock.
  CUdeviceptr input(const Batches::Slot& place) const;

 private:
  class Engine;
  /// Runs of one size, and the session that they are bound to.
  struct Size {
    std::unique_ptr<CudaSession> session;
    std::unique_ptr<CudaRuns> runs;  // ends first
    unsigned batch = 1;
    double rate = 0;  // pictures per second; 0: not measured
  };

  CudaModel(SessionSpec spec, CudaContext context);
  Status register_element(const ModelFacts& facts, unsigned frames, unsigned pictures);
  Status prepare(const ModelFacts& facts);
  Result<std::unique_ptr<CudaSession>> open_session(bool graph) const;
  Status bind(Size& size, std::span<const DeviceMemory> inputs);
  Result<std::vector<DeviceMemory>> make_inputs(unsigned capacity, size_t slots) const;
  unsigned fixed_batch() const;
  /// Number of inputs for batches: one is filled while others run or wait to run.
  static constexpr size_t kBatchSlots = kRunsInFlight + 1;
  std::pair<unsigned, unsigned> wanted_capacity();
  void grow();
  Result<bool> grow_to(unsigned batch);
  Result<bool> adopt(Size& size, std::vector<DeviceMemory>& inputs);
  Status check_opened();
  void start_batches();
  Size& size_for(size_t pictures);
  Result<std::vector<std::shared_ptr<CudaTensor>>> run_on(Size& size, size_t slot,
                                                          std::span<void* const> ready,
                                                          const OrtRunOptions* options);

  const SessionSpec spec_;
  const CudaContext context_;
  CudaTensorPool pieces_;
  std::mutex growing_;  // guards checked_, opened_, settled_; taken before turn_
  std::mutex turn_;
  ModelDeclaration declaration_;
  ModelFacts facts_;
  std::vector<DeviceMemory> inputs_;    // by slot
  std::vector<Size> sizes_;             // ascending; changes only while both locks are held
  unsigned frames_ = 0;                 // pictures that may be waiting at a time
  unsigned group_ = 1;                  // largest number of pictures of a frame
  const CudaSession* first_ = nullptr;  // of the first size
  CudaStream joining_;                  // of joined(), apart from runs that may be captured
  size_t next_ = 0;
  bool prepared_ = false;
  bool checked_ = false;  // batches were found to be possible
  bool opened_ = false;   // sessions but the first have an open batch
  bool settled_ = false;  // larger batches bring no more
  std::optional<Error> no_batch_reason_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batches> batches_;  // ends first
};

}  // namespace keepbox
