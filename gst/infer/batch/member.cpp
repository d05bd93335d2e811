// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps places and members consistent, whatever happens to a frame.
#include "gst/infer/batch/member.h"

#include <utility>

namespace keepbox {

/// The parts of a member that a pending frame needs when its element is gone. The membership ends
/// with the last frame.
struct BatchMember::Shared {
  Shared(std::shared_ptr<Batches> of, unsigned number) : batches(std::move(of)), places(number) {
    batches->join(places);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { batches->leave(places); }

  const std::shared_ptr<Batches> batches;
  const unsigned places;
  Batches::Member member;
};

class BatchMember::Pending : public PendingFrame {
 public:
  Pending(std::shared_ptr<Shared> shared, Batches::Place place)
      : shared_(std::move(shared)), place_(std::move(place)), put_(Batches::Clock::now()) {}
  ~Pending() override {
    if (place_.batch) shared_->batches->abandon(shared_->member, std::move(place_));
  }

  Result<std::vector<InferredTensor>> finish() override {
    const unsigned index = place_.index;
    auto result = shared_->batches->result(shared_->member, std::exchange(place_, {}));
    if (!result) return std::unexpected(result.error());
    const std::chrono::duration<double, std::micro> waited = Batches::Clock::now() - put_;
    times_ = {.model_us = (*result)->model_us(), .queued_us = waited.count()};
    return (*result)->slice(index);
  }

  InferTimes times() const override { return times_; }

 private:
  std::shared_ptr<Shared> shared_;
  Batches::Place place_;
  Batches::Clock::time_point put_;
  InferTimes times_;
};

BatchMember::BatchMember(std::shared_ptr<Batches> batches, unsigned places)
    : shared_(std::make_shared<Shared>(std::move(batches), places)) {}

BatchMember::~BatchMember() = default;

Result<std::unique_ptr<PendingFrame>> BatchMember::begin(uint64_t order, const MakeInput& make) {
  auto place = shared_->batches->take(shared_->member, order);
  if (!place) return std::unexpected(place.error());
  auto ready = make(*place);
  if (!ready) {
    shared_->batches->abandon(shared_->member, std::move(*place));
    return std::unexpected(ready.error());
  }
  shared_->batches->put(*place, std::move(*ready));
  return std::make_unique<Pending>(shared_, std::move(*place));
}

void BatchMember::interrupt(bool on) { shared_->batches->interrupt(shared_->member, on); }

BatchCounts BatchMember::counts() const { return shared_->batches->counts(); }

}  // namespace keepbox
