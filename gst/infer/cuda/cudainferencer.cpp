// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on a GPU, with frames, input and tensors in its memory.
#include "gst/infer/cuda/cudafeed.h"
#include "gst/infer/cuda/cudamodel.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/sharedmodels.h"

namespace keepbox {
namespace {

class CudaInferencer : public Inferencer {
 public:
  explicit CudaInferencer(std::shared_ptr<CudaModel> model) : model_(std::move(model)) {}
  ~CudaInferencer() override { drain(); }

  const ModelClaims& claims() const override { return model_->claims(); }
  Status set_model(const ModelFacts& facts) override {
    KB_TRY(model_->prepare(facts));
    const std::lock_guard guard(model_->turn());
    auto options = model_->run_options();
    if (!options) return std::unexpected(options.error());
    options_ = std::move(*options);
    runtime_ = &model_->runtime();
    return {};
  }
  /// Work that was already launched goes on, as does a graph.
  void interrupt(bool on) override { runtime_->terminate(options_.get(), on); }
  bool graph() const override { return model_->graph(); }
  InferTimes times() const override { return times_; }

  /// Drains the feed first, because the model may be reading its output. Takes the lock because
  /// another element's prepare() may be replacing the stream.
  void drain() override {
    const std::lock_guard guard(model_->turn());
    model_->drain();
  }

  Status set_frames(const InputPlan& plan, const GstVideoInfo& info) override {
    drain();
    feed_ = std::make_unique<CudaFeed>(plan, info, model_->context(), model_->slots());
    return {};
  }

  Result<std::vector<InferredTensor>> infer(GstBuffer* frame) override {
    const GstClockTime started = gst_util_get_timestamp();
    const std::lock_guard guard(model_->turn());
    const auto turn = model_->next();
    if (!turn) return std::unexpected(turn.error());
    times_ = {.input_us = feed_->microseconds(turn->slot),
              .model_us = turn->model_us,
              .queued_us = static_cast<double>(gst_util_get_timestamp() - started) / GST_USECOND};
    KB_TRY(feed_->feed(frame, turn->slot, turn->input));
    return model_->run(turn->slot, feed_->ready(turn->slot), options_.get());
  }

 private:
  std::shared_ptr<CudaModel> model_;
  const OnnxRuntime* runtime_ = nullptr;
  OnnxRunOptions options_{nullptr, nullptr};
  std::unique_ptr<CudaFeed> feed_;
  InferTimes times_;
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context) {
  static auto& shared = *new SharedModels<CudaModel>;
  auto model = shared.get(spec, [&] { return CudaModel::open(spec, context); });
  if (!model) return std::unexpected(model.error());
  return std::make_unique<CudaInferencer>(std::move(*model));
}

}  // namespace keepbox
