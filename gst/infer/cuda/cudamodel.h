// SPDX-License-Identifier: LGPL-2.1-or-later
// A model on a GPU, shared by elements: one stream, and a few inputs used in turn.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gst/infer/inferencer.h"
#include "gst/infer/onnx/onnxsession.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

class CudaModel : public std::enable_shared_from_this<CudaModel> {
 public:
  /// @param context wraps the device's primary context, in which ONNX Runtime works.
  static Result<std::shared_ptr<CudaModel>> open(const SessionSpec& spec, CudaContext context);
  ~CudaModel();

  const ModelClaims& claims() const { return claims_; }
  const CudaContext& context() const { return context_; }

  /// Makes the inputs, and the graphs if the model allows them. The first caller makes them, later
  /// callers share them; kInvalid if their input differs.
  Status prepare(const ModelFacts& facts);
  bool graph() const { return graph_; }
  size_t slots() const { return spec_.in_flight; }

  /// Hold this lock from next() to run(), and for drain(), run_options() and runtime().
  std::mutex& turn() { return turn_; }

  /// An input that is not in use any more.
  struct Turn {
    size_t slot;
    CUdeviceptr input;
    double model_us;  // of the previous run of this slot; 0 if none
  };
  Result<Turn> next();

  /// Returns options for an element's runs. @pre turn() is held.
  Result<OnnxRunOptions> run_options() const;
  const OnnxRuntime& runtime() const { return session_->runtime(); }

  /// Enqueues a run after an event, and an event that is reached when its outputs are complete.
  Result<std::vector<InferredTensor>> run(size_t slot, CUevent input_ready,
                                          const ort::RunOptions* options);

  /// Waits until all runs are complete.
  void drain();

 private:
  struct Piece {  // memory of an output that was handed out
    DeviceMemory memory;
    CudaEvent ready;
  };
  struct Lent;
  struct Fixed {  // an output of a graph
    DeviceMemory memory;
    OnnxValue value;
    DataType type;
    Shape shape;
    size_t bytes;
  };
  struct Slot {
    DeviceMemory input;
    OnnxValue input_value;
    OnnxOwned<ort::IoBinding> binding;
    CudaEvent begun, done;
    bool used = false;
    std::vector<Fixed> outputs;  // of the graph
    CudaGraph graph;
  };

  CudaModel(SessionSpec spec, CudaContext context)
      : spec_(std::move(spec)), context_(std::move(context)), memory_(nullptr, nullptr) {}
  Status load(bool graph);
  void unload();
  Status make_slots(const ModelFacts& facts);
  Result<Slot> make_slot(const ModelFacts& facts);
  Status bind_extras(Slot& slot, const ModelFacts& facts);
  Status bind_outputs_anew(Slot& slot);
  Status capture();
  Status capture(Slot& slot, const std::vector<OnnxOutput>& like, const ort::RunOptions* options);
  Result<Fixed> fixed(const OnnxOutput& like) const;
  Result<std::vector<OnnxOutput>> bound_outputs(Slot& slot);
  Status run_bound(Slot& slot, const ort::RunOptions* options);
  Result<std::vector<InferredTensor>> taken_outputs(Slot& slot);
  Result<InferredTensor> copied(const Fixed& output);
  Result<InferredTensor> handed_out(OnnxOutput output);
  Result<InferredTensor> wrapped(std::unique_ptr<Lent> lent, CUdeviceptr data, size_t bytes);
  Result<Piece> piece_of(size_t bytes);
  static void give_back(gpointer lent);

  SessionSpec spec_;
  CudaContext context_;
  std::mutex turn_, pieces_lock_;
  CudaStream stream_;
  GstMiniObject* tensors_ready_ = nullptr;  // a GstCudaStream after the last run, for tensors
  ModelClaims claims_;  // a copy: another element's prepare() may reopen the session
  std::unique_ptr<OnnxSession> session_;
  OnnxOwned<ort::MemoryInfo> memory_;
  std::vector<DeviceMemory> extras_;  // small inputs other than the picture
  std::vector<OnnxValue> extra_values_;
  std::vector<Slot> slots_;
  std::vector<Piece> pieces_;  // free ones
  InputForm input_;
  size_t next_ = 0;
  bool graph_ = false, prepared_ = false;
};

}  // namespace keepbox
