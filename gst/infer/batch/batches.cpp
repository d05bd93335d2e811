// SPDX-License-Identifier: LGPL-2.1-or-later
// Reserves places, launches batches, and waits for their ends.
#include "gst/infer/batch/batches.h"

#include <algorithm>
#include <utility>

namespace keepbox {
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

Result<Batches::Slot> Batches::take(Member& member, uint64_t order) {
  KB_ASSIGN(std::vector<Slot> places, take_adjacent(member, order, 1));
  return std::move(places.front());
}

Result<std::vector<Batches::Slot>> Batches::take_adjacent(Member& member, uint64_t order,
                                                          unsigned pictures, unsigned before,
                                                          unsigned unused) {
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

}  // namespace keepbox
