// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps places and members consistent, whatever happens to a frame.
#include "gst/infer/batch/member.h"

#include <utility>

namespace keepbox {

/// The parts of a member that a pending frame needs when its element is gone. The membership ends
/// with the last frame.
struct BatchMember::Shared {
  Shared(std::shared_ptr<Batches> of, unsigned frames, unsigned each, JoinTensors how)
      : batches(std::move(of)), max_pictures(each), places(frames * each), join(std::move(how)) {
    batches->join(places);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { batches->leave(places); }

  const std::shared_ptr<Batches> batches;
  const unsigned max_pictures, places;
  const JoinTensors join;
  Batches::Member member;
};

class BatchMember::Pending : public PendingFrame {
 public:
  Pending(std::shared_ptr<Shared> shared, unsigned pictures)
      : shared_(std::move(shared)), pictures_(pictures) {}
  ~Pending() override {
    for (Batches::Slot& each : places_)
      if (each.batch) shared_->batches->abandon(shared_->member, std::move(each));
  }

  /// Puts the next pictures of the frame into the open batch, as many as have room.
  Status put_some(uint64_t order, const MakeInputs& make) {
    const auto first = static_cast<unsigned>(places_.size());
    if (first == 0) put_ = Batches::Clock::now();
    KB_ASSIGN(auto places,
              shared_->batches->take_adjacent(shared_->member, order, pictures_ - first, first,
                                              shared_->max_pictures - pictures_));
    places_.insert(places_.end(), places.begin(), places.end());
    KB_ASSIGN(const std::shared_ptr<void> ready, make(places, first));
    for (const Batches::Slot& each : places) shared_->batches->put(each, ready);
    return {};
  }
  bool is_complete() const { return places_.size() == pictures_; }

  Result<std::vector<InferredTensor>> finish() override {
    std::vector<std::vector<InferredTensor>> parts;
    for (size_t i = 0; i < places_.size();) {
      const unsigned first = places_[i].index;
      const size_t begin = i;
      KB_ASSIGN(const auto result, take(places_[i++]));
      times_.model_us += result->model_us();
      while (i < places_.size() && places_[i].batch == of_last_) KB_TRY(take(places_[i++]));
      KB_ASSIGN(auto tensors, result->slice(first, static_cast<unsigned>(i - begin)));
      parts.push_back(std::move(tensors));
    }
    of_last_.reset();
    if (parts.size() == 1) return std::move(parts.front());
    return shared_->join(std::move(parts));
  }

  InferTimes times() const override { return times_; }

 private:
  /// Returns the result of a place, which is not taken any more.
  Result<std::shared_ptr<const BatchResult>> take(Batches::Slot& place) {
    of_last_ = place.batch;
    KB_ASSIGN(auto result, shared_->batches->result(shared_->member, std::exchange(place, {})));
    const std::chrono::duration<double, std::micro> waited = Batches::Clock::now() - put_;
    times_.queued_us = waited.count();
    return result;
  }

  std::shared_ptr<Shared> shared_;
  const unsigned pictures_;
  std::vector<Batches::Slot> places_;       // by picture
  decltype(Batches::Slot::batch) of_last_;  // of the place that was taken last
  Batches::Clock::time_point put_;
  InferTimes times_;
};

BatchMember::BatchMember(std::shared_ptr<Batches> batches, unsigned frames, unsigned pictures,
                         JoinTensors join)
    : shared_(std::make_shared<Shared>(std::move(batches), frames, pictures, std::move(join))) {}

BatchMember::~BatchMember() = default;

Result<std::unique_ptr<PendingFrame>> BatchMember::begin(uint64_t order, unsigned pictures,
                                                         const MakeInputs& make) {
  auto pending = std::make_unique<Pending>(shared_, pictures);
  while (!pending->is_complete()) KB_TRY(pending->put_some(order, make));
  return pending;
}

void BatchMember::interrupt(bool on) { shared_->batches->interrupt(shared_->member, on); }

BatchCounts BatchMember::counts() const { return shared_->batches->counts(); }

}  // namespace keepbox
