// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs batches of pictures in the thread of their batches.
#include "gst/infer/host/hostmodel.h"

#include <new>
#include <string>
#include <utility>

#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/onnx.h"
#include "gst/infer/runs/batchchecks.h"
#include "gst/infer/runs/hostrun.h"

namespace keepbox {
namespace {

constexpr size_t kSlots = 2;            // one is filled while the other runs
constexpr size_t kInputAlignment = 16;  // of InputMaker

void release_owner(gpointer owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

/// The outputs of a run in system memory.
class HostResult : public BatchResult, public std::enable_shared_from_this<HostResult> {
 public:
  HostResult(std::shared_ptr<const HostModel> model, std::vector<ModelOutput> outputs,
             unsigned batch, double model_us)
      : model_(std::move(model)), outputs_(std::move(outputs)), batch_(batch), us_(model_us) {}

  Result<std::vector<InferredTensor>> slice(unsigned first, unsigned count) const override {
    std::vector<InferredTensor> out;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const ModelOutput& output = outputs_[i];
      KB_TRY(check_slices(model_->declaration(), i, output.shape, batch_));
      const size_t bytes = output.bytes / batch_;
      InferredTensor tensor{.type = output.type, .shape = slice_shape(output.shape, count)};
      tensor.data = wrapped_output(shared_from_this(), output.data + first * bytes, count * bytes);
      out.push_back(std::move(tensor));
    }
    return out;
  }
  double model_us() const override { return us_; }

 private:
  std::shared_ptr<const HostModel> model_;
  std::vector<ModelOutput> outputs_;
  unsigned batch_;
  double us_;
};

}  // namespace

OwnedBuffer wrapped_output(std::shared_ptr<const void> owner, std::byte* data, size_t bytes) {
  OwnedBuffer buffer(gst_buffer_new());
  if (bytes == 0) return buffer;
  gst_buffer_append_memory(
      buffer.get(),
      gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, data, bytes, 0, bytes,
                             new std::shared_ptr<const void>(std::move(owner)), release_owner));
  return buffer;
}

void InputMemory::Free::operator()(std::byte* data) const {
  ::operator delete(data, std::align_val_t{kAlignment});
}

Status InputMemory::allocate(size_t bytes) {
  data_.reset(
      static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow)));
  if (data_ == nullptr)
    return reject(ErrorKind::kNoResource,
                  "Not enough memory for " + std::to_string(bytes) + " bytes",
                  "lower input-width=, input-height= or batch-size=, or use a smaller model");
  std::fill_n(data_.get(), bytes, std::byte{});
  bytes_ = bytes;
  return {};
}

/// Runs exactly the pictures that are there if the model's batch is dynamic, and all places of the
/// batch if it is fixed.
class HostModel::Engine : public BatchEngine {
 public:
  explicit Engine(HostModel& model) : model_(model) {}

  Status create(const ModelFacts& facts, unsigned capacity) {
    facts_ = facts;
    KB_ASSIGN(auto runs, model_.session().runs());
    runs_ = std::move(runs);
    slots_.resize(kSlots);
    for (InputMemory& slot : slots_) KB_TRY(slot.allocate(capacity * facts.input.bytes()));
    return {};
  }

  std::byte* input(size_t slot, unsigned index) const {
    return slots_[slot].data() + index * facts_.input.bytes();
  }

  Result<std::shared_ptr<const BatchResult>> launch(size_t slot,
                                                    std::span<void* const> ready) override {
    const int64_t fixed = model_.declaration().batch;
    return run(slot, fixed > 1 ? static_cast<unsigned>(fixed) : unsigned(ready.size()));
  }

  Result<std::shared_ptr<const BatchResult>> run(size_t slot, unsigned batch) {
    const std::span<std::byte> pictures(slots_[slot].data(), batch * facts_.input.bytes());
    KB_ASSIGN(const auto bound, HostRun::create(model_.session(), *runs_, facts_, pictures, batch));
    const auto begun = Batches::Clock::now();
    KB_ASSIGN(auto outputs, bound.run());
    const std::chrono::duration<double, std::micro> took = Batches::Clock::now() - begun;
    return std::make_shared<HostResult>(model_.shared_from_this(), std::move(outputs), batch,
                                        took.count());
  }

  Status wait(size_t) override { return {}; }
  bool runs_in_launch() const override { return true; }

  void clear_cancel() override { runs_->terminate(false); }
  void cancel() override { runs_->terminate(true); }

 private:
  HostModel& model_;
  ModelFacts facts_;
  std::unique_ptr<ModelRuns> runs_;
  std::vector<InputMemory> slots_;
};

HostModel::HostModel(SessionSpec spec, std::unique_ptr<ModelSession> session)
    : spec_(std::move(spec)), session_(std::move(session)), declaration_(session_->declaration()) {}

Result<std::shared_ptr<HostModel>> HostModel::open(const SessionSpec& spec) {
  KB_ASSIGN(auto session, open_onnx_session(spec));
  return std::shared_ptr<HostModel>(new HostModel(spec, std::move(session)));
}

Status HostModel::prepare(const ModelFacts& facts) {
  const std::lock_guard guard(lock_);
  if (prepared_) {
    if (!batches_ || same_memory(facts.input, form_)) return {};
    return reject(ErrorKind::kInvalid,
                  "Elements that share a model have inputs of different sizes or types",
                  "set batch-size=1");
  }
  form_ = facts.input;
  const unsigned wanted = spec_.batch.size;
  if (declaration_.batch > 1) {
    KB_TRY(make_batches(facts, static_cast<unsigned>(declaration_.batch)));
  } else if (wanted > 1) {
    Status made = declaration_.batch == 1 ? open_batch(facts) : Status{};
    if (made) made = make_batches(facts, wanted);
    if (!made) no_batch_reason_ = made.error();
  }
  prepared_ = true;
  return {};
}

Status HostModel::open_batch(const ModelFacts& facts) {
  if (!spec_.batch.open)
    return reject(ErrorKind::kUnsupported, "The model has a batch of 1",
                  "set open-batch=true, or export it with a dynamic batch");
  KB_ASSIGN(const auto model, opened_model(spec_, facts));
  KB_ASSIGN(auto opened, open_onnx_session(spec_, &model));
  session_ = std::move(opened);
  return {};
}

Status HostModel::make_batches(const ModelFacts& facts, unsigned capacity) {
  if (facts.input.bytes() % kInputAlignment != 0)
    return reject(ErrorKind::kUnsupported, "The input has " + std::to_string(facts.input.bytes()) +
                                               " bytes, which is not a multiple of 16");
  KB_TRY(check_parts(*session_, facts, declaration_.batch > 1 ? capacity : 2));
  engine_ = std::make_unique<Engine>(*this);
  KB_TRY(engine_->create(facts, capacity));
  batches_ = std::make_unique<Batches>(
      Batches::Options{.capacity = capacity,
                       .slots = kSlots,
                       .timeout = std::chrono::milliseconds(spec_.batch.timeout_ms)},
      *engine_);
  return {};
}

std::shared_ptr<Batches> HostModel::batches() {
  return batches_ ? std::shared_ptr<Batches>(shared_from_this(), batches_.get()) : nullptr;
}

std::byte* HostModel::input(const Batches::Slot& place) const {
  return engine_->input(place.slot, place.index);
}

}  // namespace keepbox
