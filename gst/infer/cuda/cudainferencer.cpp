// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on a GPU, with frames, input and tensors in its memory.
#include <algorithm>
#include <atomic>
#include <utility>

#include "gst/base/error.h"
#include "gst/infer/batch/member.h"
#include "gst/infer/cuda/cudafeed.h"
#include "gst/infer/cuda/cudamodel.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/sharedmodels.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

constexpr unsigned kLanes = 4;  // sessions side by side, if nothing else is set

Result<std::shared_ptr<CudaModel>> shared_model(const SessionSpec& spec,
                                                const CudaContext& context) {
  static auto& shared = *new SharedModels<CudaModel>;
  return shared.get(spec, [&] { return CudaModel::open(spec, context); });
}

/// Runs an element's frames in the batches of the model if there are any, else one by one.
class CudaInferencer : public Inferencer {
 public:
  explicit CudaInferencer(std::shared_ptr<CudaModel> model)
      : model_(std::move(model)), frames_(model_->spec().ahead + 1) {}

  ~CudaInferencer() override {
    drain();
    member_.reset();
    leave();
  }

  const ModelClaims& claims() const override { return model_->claims(); }

  Status set_model(const ModelFacts& facts) override {
    KB_TRY(join(model_, facts));
    KB_TRY(choose_lane(facts));
    const std::lock_guard guard(model_->turn());
    auto options = model_->run_options();
    if (!options) return std::unexpected(options.error());
    options_ = std::move(*options);
    runtime_ = &model_->runtime();
    follow();
    return {};
  }

  /// Work that was already launched goes on, as does a graph.
  void interrupt(bool on) override {
    const std::lock_guard guard(lock_);
    interrupted_ = on;
    runtime_->terminate(options_.get(), on);
    if (member_) member_->interrupt(on);
  }

  bool graph() const override {
    const std::lock_guard guard(model_->turn());
    return model_->graph();
  }
  std::string why_single() const override {
    const std::lock_guard guard(model_->turn());
    return model_->why_single();
  }
  BatchCounts batch_counts() const override {
    const std::lock_guard guard(lock_);
    return member_ ? member_->counts() : BatchCounts{};
  }

  /// Drains the feed first, because the model may be reading its output. Takes the lock because
  /// another element's join() may be replacing the session.
  void drain() override {
    const std::lock_guard guard(model_->turn());
    model_->drain();
  }

  Status set_frames(const InputPlan& plan, const GstVideoInfo& info) override {
    drain();
    const size_t slots = std::max(model_->spec().in_flight, frames_);
    feed_ = std::make_unique<CudaFeed>(plan, info, model_->context(), slots);
    return {};
  }

  Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order) override {
    if (!member_) {
      const std::lock_guard guard(model_->turn());
      follow();
      if (!member_) return run_alone(frame);
    }
    return member_->begin(order, [&](const Batches::Place& place) -> Result<std::shared_ptr<void>> {
      const size_t slot = next_++ % frames_;
      KB_TRY(feed_->feed(frame, slot, model_->input(place)));
      return feed_->kept_ready(slot);
    });
  }

 private:
  Status join(const std::shared_ptr<CudaModel>& model, const ModelFacts& facts) {
    KB_TRY(model->join(facts, frames_));
    joined_ = true;
    return {};
  }
  void leave() {
    if (std::exchange(joined_, false)) model_->leave(frames_);
  }

  /// Moves to another session of a model that cannot run batches, if others use this one.
  Status choose_lane(const ModelFacts& facts) {
    unsigned users = 0;
    {
      const std::lock_guard guard(model_->turn());
      if (model_->why_single().empty()) return {};
      users = model_->users();
    }
    SessionSpec spec = model_->spec();
    const unsigned lanes = spec.batch.parallel > 0 ? spec.batch.parallel : kLanes;
    std::shared_ptr<CudaModel> best = model_;
    for (spec.lane = 1; spec.lane < lanes && users > 1; ++spec.lane) {
      const auto other = shared_model(spec, model_->context());
      if (!other) break;  // such as for lack of memory
      const std::lock_guard guard((*other)->turn());
      if ((*other)->users() + 1 >= users) continue;
      users = (*other)->users() + 1;
      best = *other;
      if (users == 1) break;
    }
    if (best == model_) return {};
    if (!best->join(facts, frames_)) return {};
    leave();
    model_ = std::move(best);
    joined_ = true;
    return {};
  }

  /// Takes part in the batches as soon as the model has any. @pre the model's turn is held.
  void follow() {
    auto batches = model_->batches();
    if (member_ || !batches) return;
    const std::lock_guard guard(lock_);
    member_ = std::make_unique<BatchMember>(std::move(batches), frames_);
    if (interrupted_) member_->interrupt(true);
  }

  Result<std::unique_ptr<PendingFrame>> run_alone(GstBuffer* frame) {
    const GstClockTime started = gst_util_get_timestamp();
    const auto turn = model_->next();
    if (!turn) return std::unexpected(turn.error());
    const InferTimes times{
        .input_us = feed_->microseconds(turn->slot),
        .model_us = turn->model_us,
        .queued_us = static_cast<double>(gst_util_get_timestamp() - started) / GST_USECOND};
    KB_TRY(feed_->feed(frame, turn->slot, turn->input));
    auto tensors = model_->run(turn->slot, feed_->ready(turn->slot), options_.get());
    if (!tensors) return std::unexpected(tensors.error());
    return std::make_unique<StartedFrame>(std::move(*tensors), times);
  }

  std::shared_ptr<CudaModel> model_;
  const unsigned frames_;  // pending at a time
  bool joined_ = false;
  const OnnxRuntime* runtime_ = nullptr;
  OnnxRunOptions options_{nullptr, nullptr};
  mutable std::mutex lock_;  // guards member_ between its creation and calls of other threads
  std::unique_ptr<BatchMember> member_;
  bool interrupted_ = false;
  std::unique_ptr<CudaFeed> feed_;
  size_t next_ = 0;  // slot of the feed
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context) {
  auto model = shared_model(spec, context);
  if (!model) return std::unexpected(model.error());
  return std::make_unique<CudaInferencer>(std::move(*model));
}

}  // namespace keepbox
