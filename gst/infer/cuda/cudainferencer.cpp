// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on a GPU, with frames, input and tensors in its memory.
#include <algorithm>
#include <atomic>
#include <utility>

#include "gst/base/error.h"
#include "gst/infer/batch/lanes.h"
#include "gst/infer/batch/member.h"
#include "gst/infer/cuda/cudafeed.h"
#include "gst/infer/cuda/cudamodel.h"
#include "gst/infer/cuda/heldframe.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/sharedmodels.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

constexpr unsigned kMaxSessions = 4;  // sessions side by side, if nothing else is set

Result<std::shared_ptr<CudaModel>> shared_model(const SessionSpec& spec,
                                                const CudaContext& context) {
  static auto& shared = *new SharedModels<CudaModel>;
  return shared.get(spec, [&] { return CudaModel::open(spec, context); });
}

/// Returns the users of a model's sessions. @param spec of the first one.
Result<std::shared_ptr<Lanes>> shared_lanes(const SessionSpec& spec) {
  static auto& shared = *new SharedModels<Lanes>;
  return shared.get(spec,
                    []() -> Result<std::shared_ptr<Lanes>> { return std::make_shared<Lanes>(); });
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
    if (lanes_) lanes_->leave(lane_);
  }

  const ModelDeclaration& declaration() const override { return model_->declaration(); }

  Status set_model(const ModelFacts& facts) override {
    facts_ = facts;
    KB_TRY(join(model_, facts));
    KB_TRY(choose_session(facts));
    const std::lock_guard guard(model_->turn());
    KB_ASSIGN(auto options, model_->run_options());
    options_ = std::move(options);
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
  std::optional<Error> no_batch_reason() const override {
    const std::lock_guard guard(model_->turn());
    return model_->no_batch_reason();
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

  Status set_frames(Pictures pictures, const GstVideoInfo& info, unsigned max_pending) override {
    drain();
    KB_TRY(expect(max_pending, pictures.max_pictures, !pictures.crops));
    const size_t slots = std::max(model_->spec().in_flight, frames_);
    feed_ = std::make_unique<CudaFeed>(std::move(pictures), info, model_->context(), slots);
    return {};
  }

  /// A frame without a stream stays in the element while the GPU reads it, even if it is dropped.
  Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order,
                                              std::span<const Crop> crops) override {
    auto begun = start(frame, order, crops);
    if (!feed_->holds_frame(slot_)) return begun;
    auto held = std::make_unique<HeldFrame>(begun ? std::move(*begun) : nullptr, feed_->context(),
                                            feed_->kept_ready(slot_));
    if (!begun) return begun;
    return held;
  }

 private:
  /// Objects, of which a frame may have few, run in batches of any size; tiles in whole frames.
  Status join_on(CudaModel& model, const ModelFacts& facts) const {
    return whole_ ? model.join(facts, frames_, pictures_)
                  : model.join(facts, frames_ * pictures_, 1);
  }
  Status join(const std::shared_ptr<CudaModel>& model, const ModelFacts& facts) {
    KB_TRY(join_on(*model, facts));
    joined_ = true;
    return {};
  }
  void leave() {
    if (std::exchange(joined_, false)) model_->leave(frames_ * pictures_);
  }

  /// Returns the number of sessions that the elements of a model may use.
  unsigned max_sessions() const {
    const std::lock_guard guard(model_->turn());
    if (!model_->no_batch_reason()) return 1;
    const unsigned wanted = model_->spec().batch.parallel;
    return wanted > 0 ? wanted : kMaxSessions;
  }

  /// Moves to another session of a model that cannot run batches if that has fewer users. One that
  /// cannot be opened, such as for lack of memory, leaves the choice among those before it.
  Status choose_session(const ModelFacts& facts) {
    SessionSpec spec = model_->spec();
    KB_ASSIGN(lanes_, shared_lanes(spec));
    for (unsigned count = max_sessions();; count = lane_) {
      lane_ = lanes_->take(count);
      if (lane_ == 0) return {};
      spec.lane = lane_;
      const auto other = shared_model(spec, model_->context());
      if (other && join_on(**other, facts)) {
        leave();
        model_ = *other;
        joined_ = true;
        return {};
      }
      lanes_->leave(lane_);
    }
  }

  /// Takes part with that many frames of up to that many pictures from now on. @param whole all
  /// frames have that many.
  Status expect(unsigned frames, unsigned pictures, bool whole) {
    if (frames == frames_ && pictures == pictures_ && whole == whole_) return {};
    {
      const std::lock_guard guard(lock_);
      member_.reset();
    }
    leave();
    frames_ = frames;
    pictures_ = pictures;
    whole_ = whole;
    KB_TRY(join(model_, facts_));
    const std::lock_guard guard(model_->turn());
    follow();
    return {};
  }

  /// Takes part in the batches as soon as the model has any. @pre the model's turn is held.
  void follow() {
    auto batches = model_->batches();
    if (member_ || !batches) return;
    const std::lock_guard guard(lock_);
    const auto join = [model = model_](std::vector<std::vector<InferredTensor>> parts) {
      return model->joined(std::move(parts));
    };
    member_ = std::make_unique<BatchMember>(std::move(batches), frames_, pictures_, join);
    if (interrupted_) member_->interrupt(true);
  }

  Result<std::unique_ptr<PendingFrame>> start(GstBuffer* frame, uint64_t order,
                                              std::span<const Crop> crops) {
    if (!member_) {
      const std::lock_guard guard(model_->turn());
      follow();
      if (!member_) return run_alone(frame, crops);
    }
    slot_ = next_++ % frames_;
    const auto make = [&](std::span<const Batches::Slot> places,
                          unsigned first) -> Result<std::shared_ptr<void>> {
      std::vector<CUdeviceptr> inputs;
      for (const Batches::Slot& each : places) inputs.push_back(model_->input(each));
      KB_TRY(feed_->feed(frame, slot_, first, crops, inputs));
      return feed_->kept_ready(slot_);
    };
    return member_->begin(order, static_cast<unsigned>(feed_->pictures(crops)), make);
  }

  /// Runs the pictures of a frame one after the other.
  Result<std::unique_ptr<PendingFrame>> run_alone(GstBuffer* frame, std::span<const Crop> crops) {
    InferTimes times;
    std::vector<std::vector<InferredTensor>> parts;
    for (size_t i = 0; i < feed_->pictures(crops); ++i) {
      KB_ASSIGN(auto tensors, run_picture(frame, crops, i, times));
      parts.push_back(std::move(tensors));
    }
    if (parts.size() == 1) return std::make_unique<StartedFrame>(std::move(parts.front()), times);
    KB_ASSIGN(auto joined, model_->joined(std::move(parts)));
    return std::make_unique<StartedFrame>(std::move(joined), times);
  }

  /// @param times incremented by what an earlier picture took.
  Result<std::vector<InferredTensor>> run_picture(GstBuffer* frame, std::span<const Crop> crops,
                                                  size_t number, InferTimes& times) {
    const GstClockTime started = gst_util_get_timestamp();
    KB_ASSIGN(const CudaModel::InputSlot turn, model_->next());
    // A frame's upload is in the slot of its first picture.
    const size_t slot = number == 0 ? turn.slot : slot_;
    slot_ = slot;
    times.input_us += number == 0 ? feed_->microseconds(slot) : 0;
    times.model_us += turn.model_us;
    times.queued_us += static_cast<double>(gst_util_get_timestamp() - started) / GST_USECOND;
    KB_TRY(feed_->feed(frame, slot, number, crops, {{turn.input}}));
    return model_->run(turn.slot, feed_->ready(slot), options_.get());
  }

  std::shared_ptr<CudaModel> model_;
  unsigned frames_;        // pending at a time
  unsigned pictures_ = 1;  // maximum per frame
  bool whole_ = true;      // all frames have that many
  ModelFacts facts_;
  bool joined_ = false;
  std::shared_ptr<Lanes> lanes_;
  unsigned lane_ = 0;
  const OnnxRuntime* runtime_ = nullptr;
  OnnxRunOptions options_{nullptr, nullptr};
  mutable std::mutex lock_;  // guards member_ between its creation and calls of other threads
  std::unique_ptr<BatchMember> member_;
  bool interrupted_ = false;
  std::unique_ptr<CudaFeed> feed_;
  size_t next_ = 0;  // slot of the feed, in batches
  size_t slot_ = 0;  // of the last frame
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context) {
  KB_ASSIGN(auto model, shared_model(spec, context));
  return std::make_unique<CudaInferencer>(std::move(model));
}

}  // namespace keepbox
