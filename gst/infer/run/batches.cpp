// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of several elements in one run of a model.
#include "gst/infer/run/batches.h"

#include "gst/tensors/tensors.h"

namespace keepbox {

Result<std::vector<Shape>> joined_shapes(const std::vector<std::vector<InferredTensor>>& parts) {
  std::vector<Shape> out;
  for (const InferredTensor& first : parts.front()) {
    const size_t number = out.size();
    size_t pictures = 0;
    for (const auto& part : parts) {
      const Shape& shape = part[number].shape;
      if (shape.rank() == 0 || slice_shape(shape) != slice_shape(first.shape))
        return reject(ErrorKind::kUnsupported,
                      "The outputs of a frame's pictures differ in size: " +
                          first.shape.to_string() + " and " + shape.to_string(),
                      "export the model without NMS, or leave tiles= and regions= unset");
      pictures += shape[0];
    }
    out.push_back(slice_shape(first.shape, pictures));
  }
  return out;
}

namespace {

std::unexpected<Error> interrupted() {
  return reject(ErrorKind::kInterrupted, "The batch was interrupted by a flush or a stop");
}

}  // namespace

Batches::Batches(Options options, BatchEngine& engine)
    : engine_(engine), options_(options), capacity_(options.capacity) {
  open_next();
  launching_thread_ = std::thread([this] { loop(); });
  waiting_thread_ = std::thread([this] { wait_for_runs(); });
}

Batches::~Batches() {
  {
    const std::lock_guard guard(lock_);
    ending_ = true;
  }
  work_.notify_one();
  launching_thread_.join();
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
  }
  runs_.notify_one();
  waiting_thread_.join();
}

void Batches::open_next() {
  open_ = std::make_shared<Batch>();
  open_->slot = next_slot_;
  next_slot_ = (next_slot_ + 1) % options_.slots;
  wake_next();
}

/// Returns the number of places that a member has at least while others wait.
unsigned Batches::share() const { return std::max(1u, capacity_ / std::max(1u, members_)); }

/// True if the open batch has room. A frame that a whole batch can hold is not divided, because its
/// tensors would be complete one run later, and be copied together.
bool Batches::fits(const Waiter& waiter) const {
  const bool divided = waiter.before > 0 || waiter.pictures > capacity_;
  return !held_ && open_->taken() + (divided ? 1 : waiter.pictures) <= capacity_;
}

bool Batches::is_next(const Waiter& waiter) const {
  return fits(waiter) && !(waiters_.begin()->first < waiter);
}

/// Wakes the member whose turn it is if it has room.
void Batches::wake_next() {
  if (!waiters_.empty() && fits(waiters_.begin()->first)) waiters_.begin()->second->notify_one();
}

/// True if waiting for more pictures is pointless: there is no room for the next frame, or all
/// frames that the members may have at a time are waiting for this batch.
bool Batches::is_full() const {
  if (!waiters_.empty() && !fits(waiters_.begin()->first)) return true;
  const size_t taken = open_->taken();
  return taken >= capacity_ || taken + open_->before >= std::max(places_, 1u);
}

/// True if the open batch may be launched: if no run is under way, or if it is full and the slot of
/// the batch after it is free.
bool Batches::may_start() const {
  return running_.empty() ||
         (std::ranges::find(running_, next_slot_) == running_.end() && is_full());
}

Result<std::vector<Batches::Slot>> Batches::take(Member& member, uint64_t order, unsigned pictures,
                                                 unsigned before, unsigned unused) {
  std::unique_lock lock(lock_);
  const bool over_share = before == 0 && member.places >= share();
  const Waiter waiter{over_share, order, pictures, before};
  std::condition_variable turn;
  const auto waiting = waiters_.emplace(waiter, &turn);
  if (!fits(waiter) && may_start()) work_.notify_one();  // the open batch is full now
  turn.wait(lock, [&] { return member.stopped || is_next(waiter); });
  waiters_.erase(waiting);
  if (member.stopped) {
    wake_next();
    if (may_start()) work_.notify_one();  // the batch is full for the next one
    return interrupted();
  }
  Batch& batch = *open_;
  if (batch.taken() == 0) batch.begun = Clock::now();
  batch.before += before;
  std::vector<Slot> out;
  while (out.size() < pictures && batch.taken() < capacity_) {
    out.push_back({open_, static_cast<unsigned>(batch.taken()), batch.slot});
    batch.entries.push_back({});
    ++batch.wanted;
    ++batch.pending;
    ++member.places;
  }
  if (out.size() == pictures) batch.before += unused;
  wake_next();
  return out;
}

void Batches::put(const Slot& place, std::shared_ptr<void> ready) {
  const std::lock_guard guard(lock_);
  Entry& entry = place.batch->entries[place.index];
  entry.ready = std::move(ready);
  entry.made = true;
  --place.batch->pending;
  if (place.batch == launching_ || may_start()) work_.notify_one();
}

void Batches::abandon(Member& member, Slot place) {
  const std::lock_guard guard(lock_);
  drop(member, place);
}

void Batches::drop(Member& member, const Slot& place) {
  Batch& batch = *place.batch;
  Entry& entry = batch.entries[place.index];
  --member.places;
  entry.wanted = false;
  --batch.wanted;
  if (!std::exchange(entry.made, true)) --batch.pending;
  ++counts_.dropped;
  if (batch.wanted == 0 && batch.starting) engine_.cancel();
  if (batch.wanted == 0 && batch.pending == 0 && place.batch == open_ &&
      !engine_.makes_inputs_later()) {
    batch.entries.clear();
    batch.before = 0;
    wake_next();
  }
  work_.notify_one();
}

Result<std::shared_ptr<const BatchResult>> Batches::result(Member& member, Slot place) {
  std::unique_lock lock(lock_);
  Batch& batch = *place.batch;
  batch.changed.wait(lock, [&] { return batch.launched || member.stopped; });
  if (!batch.launched) {
    drop(member, place);
    return interrupted();
  }
  --member.places;
  return batch.result;
}

void Batches::interrupt(Member& member, bool on) {
  const std::lock_guard guard(lock_);
  member.stopped = on;
  if (!on) return;
  for (const auto& [waiter, turn] : waiters_) turn->notify_one();
  open_->changed.notify_all();
  if (launching_) launching_->changed.notify_all();
}

void Batches::join(unsigned places) {
  const std::lock_guard guard(lock_);
  ++members_;
  places_ += places;
}

void Batches::leave(unsigned places) {
  std::unique_lock lock(lock_);
  --members_;
  places_ -= places;
  work_.notify_one();  // the open batch may be full now
  // The model may end after this. Its abandoned pictures are launched before that, and their result
  // must not be the last one that keeps it, because it would end in the launching thread.
  idle_.wait(lock, [&] { return members_ > 0 || (!launching_ && open_->taken() == 0); });
}

bool Batches::is_idle() const { return running_.empty() && !launching_ && open_->taken() == 0; }

void Batches::change(const std::function<unsigned()>& change) {
  std::unique_lock lock(lock_);
  idle_.wait(lock, [&] { return !held_; });
  held_ = true;
  work_.notify_one();
  idle_.wait(lock, [&] { return is_idle(); });
  lock.unlock();
  const unsigned capacity = change();
  lock.lock();
  capacity_ = capacity;
  held_ = false;
  wake_next();
  idle_.notify_all();
}

BatchCounts Batches::counts() const {
  const std::lock_guard guard(lock_);
  BatchCounts out = counts_;
  out.capacity = capacity_;
  return out;
}

void Batches::loop() {
  std::unique_lock lock(lock_);
  while (true) {
    if (open_->taken() > 0 && may_start()) {
      if (is_due(lock)) launch(lock);
    } else if (open_->taken() == 0 && ending_) {
      return;
    } else {
      idle_.notify_all();
      work_.wait(lock);
    }
  }
}

/// Waits for inputs that are being made, and for more pictures if a timeout is set. Returns false
/// if the batch is to be looked at again.
bool Batches::is_due(std::unique_lock<std::mutex>& lock) {
  const bool full = is_full();
  if (!full && open_->pending > 0) {
    work_.wait(lock);
    return false;
  }
  const auto until = open_->begun + options_.timeout;
  if (full || held_ || Clock::now() >= until) return true;
  work_.wait_until(lock, until);
  return false;
}

/// Waits for the end of each run, in order, until the last one that is launched.
void Batches::wait_for_runs() {
  std::unique_lock lock(lock_);
  while (true) {
    runs_.wait(lock, [&] { return ended_ || !running_.empty(); });
    if (running_.empty()) return;
    const size_t slot = running_.front();
    lock.unlock();
    (void)engine_.wait(slot);  // a failed device fails the next launch, too
    lock.lock();
    running_.pop_front();
    work_.notify_one();
  }
}

void Batches::launch(std::unique_lock<std::mutex>& lock) {
  launching_ = std::exchange(open_, nullptr);
  open_next();
  Batch& batch = *launching_;
  work_.wait(lock, [&] { return batch.pending == 0; });
  if (batch.wanted > 0 || engine_.makes_inputs_later()) {
    std::vector<std::shared_ptr<void>> owners;
    std::vector<void*> ready;
    for (Entry& entry : batch.entries) {
      ready.push_back(entry.ready.get());
      owners.push_back(std::move(entry.ready));
    }
    engine_.clear_cancel();
    batch.starting = true;
    lock.unlock();
    auto result = engine_.launch(batch.slot, ready);
    owners.clear();
    lock.lock();
    batch.starting = false;
    if (result && !engine_.runs_in_launch()) {
      running_.push_back(batch.slot);
      runs_.notify_one();
    }
    ++counts_.batches;
    counts_.pictures += ready.size();
    batch.result = std::move(result);
    batch.launched = true;
    batch.changed.notify_all();
  }
  launching_.reset();
  idle_.notify_all();
}

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
    KB_ASSIGN(auto places, shared_->batches->take(shared_->member, order, pictures_ - first, first,
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
