// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the inputs and runs of a model, and larger batches of it as long as they are worth it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gst/base/error.h"
#include "gst/infer/batch/sizes.h"
#include "gst/infer/cuda/cudamodel.h"
#include "gst/infer/onnx/openbatch.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

constexpr size_t kInputAlignment = 16;  // of InputMaker
constexpr unsigned kMaxBatch = 64;      // of those that are settled by measurement
/// Gain per factor of two below which larger batches are not worth the start's time and the memory.
/// 64 instead of 32 gain 5 to 8 % with YOLOX-Nano alone on an H100, and 7 % in a pipeline.
constexpr double kWorthwhile = 1.05;

std::vector<CUdeviceptr> pointers_to(std::span<const DeviceMemory> inputs) {
  std::vector<CUdeviceptr> out;
  for (const DeviceMemory& each : inputs) out.push_back(each.get());
  return out;
}

}  // namespace

Result<std::vector<DeviceMemory>> CudaModel::make_inputs(unsigned capacity, size_t slots) const {
  std::vector<DeviceMemory> out;
  for (size_t i = 0; i < slots; ++i) {
    KB_ASSIGN(auto memory, allocate(context_, capacity * facts_.input.bytes()));
    out.push_back(std::move(memory));
  }
  return out;
}

/// Makes the runs of a size with graphs, or without if the model cannot be captured.
Status CudaModel::bind(Size& size, std::span<const DeviceMemory> inputs) {
  auto runs = CudaRuns::create(*size.session, facts_, size.batch, pointers_to(inputs));
  if (!runs && size.session->graph()) {
    GST_CAT_INFO(tensorinfer_debug, "no CUDA graph: %s", runs.error().message().c_str());
    KB_ASSIGN(auto session, open_session(false, size.batch));
    size.session = std::move(session);
    runs = CudaRuns::create(*size.session, facts_, size.batch, pointers_to(inputs));
  }
  KB_TRY(runs);
  size.runs = std::move(*runs);
  return {};
}

/// Returns the number of pictures that may be waiting at a time, as a size of at least a frame, and
/// the number of pictures of the largest frame.
std::pair<unsigned, unsigned> CudaModel::wanted_capacity() {
  const std::lock_guard guard(turn_);
  const unsigned max_batch = spec_.batch.size == 0 ? kMaxBatch : spec_.batch.size;
  return {batch_capacity(frames_, max_batch, group_), group_};
}

/// Adds sizes for the frames of all elements, as long as they are worth it. If that fails, pictures
/// run as before.
void CudaModel::grow() {
  const std::lock_guard alone(growing_);
  const auto [wanted, group] = wanted_capacity();
  while (fixed_batch() == 0 && !settled_ && capacity() < wanted) {
    const unsigned next = std::min(next_size(capacity(), group), wanted);
    auto grown = grow_to(next);
    if (!grown && next == group) grown = grow_to(std::min(next_size(capacity()), wanted));
    settled_ = !grown || !*grown;
    if (grown) continue;
    GST_CAT_INFO(tensorinfer_debug, "no larger batches than %u: %s", capacity(),
                 grown.error().message().c_str());
    if (capacity() != 1) continue;
    const std::lock_guard guard(turn_);
    no_batch_reason_ = grown.error();
  }
}

/// Opens a session for a larger batch while others run, and adds it between two runs. Returns false
/// if it is not worth it. @pre growing_ is held, turn_ is not.
Result<bool> CudaModel::grow_to(unsigned batch) {
  if (facts_.input.bytes() % kInputAlignment != 0)
    return reject(ErrorKind::kUnsupported, "The input has " + std::to_string(facts_.input.bytes()) +
                                               " bytes, which is not a multiple of 16");
  if (!checked_)
    KB_TRY(declaration_.batch == 1 ? check_opened() : check_tables(spec_, declaration_, facts_));
  checked_ = true;
  KB_ASSIGN(auto session, open_session(sizes_.front().session->graph(), batch));
  KB_ASSIGN(auto inputs, make_inputs(batch, batch_slots()));
  Size size{.session = std::move(session), .batch = batch};
  KB_TRY(bind(size, inputs));
  const std::lock_guard guard(turn_);
  Result<bool> adopted = false;
  const auto change = [&] {
    adopted = adopt(size, inputs);
    return capacity();
  };
  if (batches_) batches_->change(change);
  else change();
  if (adopted && *adopted && !batches_) start_batches();
  return adopted;
}

/// Adds a size unless it brings too little, and binds the others to its larger inputs.
/// @pre no run is under way.
Result<bool> CudaModel::adopt(Size& size, std::vector<DeviceMemory>& inputs) {
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  drain();
  if (spec_.batch.size == 0) {
    for (Size* each : {&sizes_.back(), &size})
      if (each->rate == 0) {
        KB_ASSIGN(const auto rate, each->runs->rate());
        each->rate = rate;
        GST_CAT_INFO(tensorinfer_debug, "batches of %u: %.0f pictures/s", each->batch, each->rate);
      }
    const double doublings = std::log2(static_cast<double>(size.batch) / sizes_.back().batch);
    if (size.rate < std::pow(kWorthwhile, doublings) * sizes_.back().rate) return false;
  }
  std::vector<std::unique_ptr<CudaRuns>> fresh;
  for (const Size& each : sizes_) {
    KB_ASSIGN(auto runs, CudaRuns::create(*each.session, facts_, each.batch, pointers_to(inputs)));
    fresh.push_back(std::move(runs));
  }
  for (size_t i = 0; i < fresh.size(); ++i) sizes_[i].runs = std::move(fresh[i]);
  inputs_ = std::move(inputs);
  sizes_.push_back(std::move(size));
  return true;
}

/// Finds out whether batches of a fixed size of 1 can be opened.
Status CudaModel::check_opened() {
  if (!spec_.batch.open)
    return reject(ErrorKind::kUnsupported, "The model has a batch of 1",
                  "set open-batch=true, or export it with a dynamic batch");
  KB_ASSIGN(const auto model, opened_model(spec_, facts_));
  opened_ = true;
  GST_CAT_INFO(tensorinfer_debug, "%s runs in batches, with the same results", spec_.file.c_str());
  return {};
}

}  // namespace keepbox
