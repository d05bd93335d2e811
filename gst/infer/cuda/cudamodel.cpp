// SPDX-License-Identifier: LGPL-2.1-or-later
// Submits runs without waiting for them.
#include "gst/infer/cuda/cudamodel.h"

#include <algorithm>
#include <cmath>

#include "gst/base/error.h"
#include "gst/infer/onnx/openbatch.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

/// The outputs of a run in device memory.
class CudaResult : public BatchResult {
 public:
  CudaResult(std::vector<std::shared_ptr<CudaTensor>> tensors, double model_us)
      : tensors_(std::move(tensors)), us_(model_us) {}

  Result<std::vector<InferredTensor>> slice(unsigned first, unsigned count) const override {
    std::vector<InferredTensor> out;
    for (const auto& tensor : tensors_) {
      const size_t bytes = tensor->bytes() / tensor->shape()[0];
      KB_ASSIGN(auto data, CudaTensor::wrapped(tensor, first * bytes, count * bytes));
      out.push_back({tensor->type(), slice_shape(tensor->shape(), count), std::move(data)});
    }
    return out;
  }
  double model_us() const override { return us_; }

 private:
  std::vector<std::shared_ptr<CudaTensor>> tensors_;
  double us_;
};

}  // namespace

/// Launches batches of the model's elements.
class CudaModel::Engine : public BatchEngine {
 public:
  explicit Engine(CudaModel& model) : model_(model), runs_(kBatchSlots) {}

  Status create() {
    KB_ASSIGN(auto options, model_.run_options());
    options_ = std::move(options);
    return {};
  }

  Result<std::shared_ptr<const BatchResult>> launch(size_t slot,
                                                    std::span<void* const> ready) override {
    const CudaScope scope(model_.context_);
    KB_TRY(scope.status());
    Size& size = model_.size_for(ready.size());
    const double before = size.runs->microseconds(slot);
    const gint64 start = g_get_monotonic_time();
    KB_ASSIGN(auto tensors, model_.run_on(size, slot, ready, options_.get()));
    GST_CAT_LOG(tensorinfer_debug,
                "%zu pictures in a batch of %u, enqueued in %" G_GINT64_FORMAT " us", ready.size(),
                size.batch, g_get_monotonic_time() - start);
    runs_[slot] = size.runs.get();
    return std::make_shared<CudaResult>(std::move(tensors), before);
  }

  bool makes_inputs_later() const override { return true; }

  Status wait(size_t slot) override {
    const CudaScope scope(model_.context_);
    KB_TRY(scope.status());
    return runs_[slot]->wait(slot);
  }

 private:
  CudaModel& model_;
  std::vector<CudaRuns*> runs_;  // by slot, of its last launch
  OnnxRunOptions options_{nullptr, nullptr};
};

Result<std::shared_ptr<CudaModel>> CudaModel::open(const SessionSpec& spec, CudaContext context) {
  std::shared_ptr<CudaModel> out(new CudaModel(spec, std::move(context)));
  auto session = out->open_session(spec.graph);
  if (!session && spec.graph) {
    GST_CAT_INFO(tensorinfer_debug, "no CUDA graph: %s", session.error().message().c_str());
    session = out->open_session(false);
  }
  KB_TRY(session);
  out->declaration_ = (*session)->onnx().declaration();
  out->sizes_.push_back({.session = std::move(*session)});
  return out;
}

CudaModel::CudaModel(SessionSpec spec, CudaContext context)
    : spec_(std::move(spec)), context_(std::move(context)), pieces_(context_) {}

/// Ends in the order of dependence: batches use runs, runs use sessions.
CudaModel::~CudaModel() {
  batches_.reset();
  const CudaScope scope(context_);
  drain();
  for (Size& each : sizes_) each.runs.reset();
}

/// Opens the model's file, with an open batch once that was found to work.
Result<std::unique_ptr<CudaSession>> CudaModel::open_session(bool graph) const {
  if (!opened_) return CudaSession::open(spec_, context_, graph);
  KB_ASSIGN(const auto model, open_batch(spec_.file));
  return CudaSession::open(spec_, context_, graph, &model);
}

unsigned CudaModel::fixed_batch() const {
  return declaration_.batch > 1 ? static_cast<unsigned>(declaration_.batch) : 0;
}

Status CudaModel::join(const ModelFacts& facts, unsigned frames, unsigned pictures) {
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  KB_TRY(register_element(facts, frames, pictures));
  grow();
  return {};
}

/// Adds an element, and prepares the model for the first one.
Status CudaModel::register_element(const ModelFacts& facts, unsigned frames, unsigned pictures) {
  const std::lock_guard guard(turn_);
  if (!prepared_) KB_TRY(prepare(facts));
  else if (!same_memory(facts.input, facts_.input))
    return reject(
        ErrorKind::kInvalid, "Elements that share a model have inputs of different sizes or types",
        "set batch-size= of one of them to a different value, so that they do not share it");
  frames_ += frames * pictures;
  group_ = std::max(group_, pictures);
  return {};
}

void CudaModel::leave(unsigned pictures) {
  const std::lock_guard guard(turn_);
  frames_ -= pictures;
}

Status CudaModel::prepare(const ModelFacts& facts) {
  facts_ = facts;
  // before the first run, which shows no such output if its picture, whatever it is, has no rows
  if (fixed_batch() > 0) KB_TRY(check_tables(spec_, declaration_, facts_));
  Size& first = sizes_.front();
  first.batch = std::max(fixed_batch(), 1u);
  KB_ASSIGN(auto inputs, make_inputs(first.batch, fixed_batch() > 0 ? kBatchSlots : kRunsInFlight));
  inputs_ = std::move(inputs);
  KB_TRY(bind(first, inputs_));
  first_ = first.session.get();
  KB_ASSIGN(auto joining, make_stream(context_, StreamPriority::kHigh));
  joining_ = std::move(joining);
  if (fixed_batch() > 0) start_batches();
  prepared_ = true;
  return {};
}

void CudaModel::start_batches() {
  engine_ = std::make_unique<Engine>(*this);
  if (const Status created = engine_->create(); !created) {
    no_batch_reason_ = created.error();
    return;
  }
  batches_ = std::make_unique<Batches>(
      Batches::Options{.capacity = capacity(),
                       .slots = kBatchSlots,
                       .timeout = std::chrono::milliseconds(spec_.batch.timeout_ms)},
      *engine_);
}

std::shared_ptr<Batches> CudaModel::batches() {
  return batches_ ? std::shared_ptr<Batches>(shared_from_this(), batches_.get()) : nullptr;
}

CUdeviceptr CudaModel::input(const Batches::Slot& place) const {
  return inputs_[place.slot].get() + place.index * facts_.input.bytes();
}

/// Returns the smallest size that has room.
CudaModel::Size& CudaModel::size_for(size_t pictures) {
  return *std::ranges::lower_bound(sizes_, pictures, {}, &Size::batch);
}

Result<std::vector<std::shared_ptr<CudaTensor>>> CudaModel::run_on(Size& size, size_t slot,
                                                                   std::span<void* const> ready,
                                                                   const OrtRunOptions* options) {
  KB_ASSIGN(auto outputs, size.runs->run(slot, ready, options));
  std::vector<std::shared_ptr<CudaTensor>> out;
  for (CudaOutput& output : outputs) {
    KB_ASSIGN(auto tensor,
              CudaTensor::create(shared_from_this(), pieces_, *size.session, std::move(output)));
    out.push_back(std::move(tensor));
  }
  KB_TRY(size.runs->end(slot));
  return out;
}

Result<CudaModel::InputSlot> CudaModel::next() {
  const size_t slot = next_++ % kRunsInFlight;
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  const CudaRuns& runs = *sizes_.front().runs;
  KB_TRY(sizes_.front().runs->wait(slot));
  return InputSlot{slot, inputs_[slot].get(), runs.microseconds(slot)};
}

Result<std::vector<InferredTensor>> CudaModel::run(size_t slot, CUevent input_ready,
                                                   const OrtRunOptions* options) {
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  void* const ready[] = {input_ready};
  KB_ASSIGN(auto tensors, run_on(sizes_.front(), slot, ready, options));
  std::vector<InferredTensor> out;
  for (const auto& tensor : tensors) {
    KB_ASSIGN(auto data, CudaTensor::wrapped(tensor, 0, tensor->bytes()));
    out.push_back({tensor->type(), tensor->shape(), std::move(data)});
  }
  return out;
}

Result<std::vector<InferredTensor>> CudaModel::joined(
    std::vector<std::vector<InferredTensor>> parts) {
  KB_ASSIGN(const std::vector<Shape> shapes, joined_shapes(parts));
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  std::vector<InferredTensor> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<OwnedBuffer> data;
    for (auto& part : parts) data.push_back(std::move(part[i].data));
    KB_ASSIGN(auto tensor, CudaTensor::joined(shared_from_this(), pieces_, *first_, joining_.get(),
                                              std::move(data)));
    KB_ASSIGN(OwnedBuffer all, CudaTensor::wrapped(tensor, 0, tensor->bytes()));
    out.push_back({parts.front()[i].type, shapes[i], std::move(all)});
  }
  return out;
}

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
    KB_ASSIGN(auto session, open_session(false));
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
  KB_ASSIGN(auto session, open_session(sizes_.front().session->graph()));
  KB_ASSIGN(auto inputs, make_inputs(batch, kBatchSlots));
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
  KB_ASSIGN(const auto model, opened_model(spec_, facts_));
  opened_ = true;
  GST_CAT_INFO(tensorinfer_debug, "%s runs in batches, with the same results", spec_.file.c_str());
  return {};
}

}  // namespace keepbox
