// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on the host.

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/run/backend.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/openbatch.h"
#include "gst/infer/onnx/session.h"
#include "gst/infer/run/batches.h"
#include "gst/infer/run/inferencer.h"
#include "gst/infer/run/pictures.h"

namespace keepbox {

/// Memory of inputs, aligned for vector loads, and zero at first.
class InputMemory {
 public:
  static constexpr size_t kAlignment = 64;

  Status allocate(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t bytes_ = 0;
};

/// A session, and the batches of its elements if it runs any.
class HostModel : public std::enable_shared_from_this<HostModel> {
 public:
  static Result<std::shared_ptr<HostModel>> open(const SessionSpec& spec);

  const SessionSpec& spec() const { return spec_; }
  /// Returns the session, which prepare() may replace; to be called after it.
  const OnnxSession& session() const { return *session_; }
  const ModelDeclaration& declaration() const { return declaration_; }

  /// Makes batches if the spec or the model requires them. The first caller makes them, later
  /// callers share them; kInvalid if their input differs. If the model cannot run several pictures,
  /// they run one by one.
  Status prepare(const ModelFacts& facts);
  /// Returns why several pictures cannot run together; none if they can, or if it was not tried.
  const std::optional<Error>& no_batch_reason() const { return no_batch_reason_; }

  /// Returns nullptr if pictures run one by one.
  std::shared_ptr<Batches> batches();
  /// Returns the memory of a place's input.
  std::byte* input(const Batches::Slot& place) const;

 private:
  class Engine;

  HostModel(SessionSpec spec, std::unique_ptr<OnnxSession> session);
  Status make_batches(const ModelFacts& facts, unsigned capacity);
  Status open_batch(const ModelFacts& facts);

  const SessionSpec spec_;
  std::unique_ptr<OnnxSession> session_;
  const ModelDeclaration declaration_;  // a copy: the session may be replaced by an opened one
  std::mutex lock_;                     // guards prepare()
  InputForm form_;
  bool prepared_ = false;
  std::optional<Error> no_batch_reason_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batches> batches_;  // ends first
};

/// Wraps an output in a buffer. @param owner keeps the data alive.
OwnedBuffer wrapped_output(std::shared_ptr<const void> owner, std::byte* data, size_t bytes);

namespace {

/// Outputs, and the model that they must not outlive.
struct Lent {
  std::shared_ptr<const HostModel> model;
  OnnxValue value;  // destroyed first
};

double microseconds_since(GstClockTime start) {
  return static_cast<double>(gst_util_get_timestamp() - start) / GST_USECOND;
}

const Backend& host_backend() {
  const auto reads_host = [](const Backend& backend) {
    return backend.memory == MemorySpace::kSystem && backend.input_maker != nullptr;
  };
  return *std::ranges::find_if(backends(), reads_host);
}

/// Copies the parts into one buffer per output.
Result<std::vector<InferredTensor>> joined_on_host(std::vector<std::vector<InferredTensor>> parts) {
  KB_ASSIGN(const std::vector<Shape> shapes, joined_shapes(parts));
  std::vector<InferredTensor> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    gsize bytes = 0;
    for (const auto& part : parts) bytes += gst_buffer_get_size(part[i].data.get());
    OwnedBuffer data(gst_buffer_new_allocate(nullptr, bytes, nullptr));
    GstMapInfo all;
    if (data == nullptr || !gst_buffer_map(data.get(), &all, GST_MAP_WRITE))
      return reject(ErrorKind::kNoResource,
                    "Not enough memory for " + std::to_string(bytes) +
                        " bytes of tensors of the frame's pictures",
                    "set fewer tiles, or run the model on fewer objects");
    gsize at = 0;
    for (const auto& part : parts)
      at += gst_buffer_extract(part[i].data.get(), 0, all.data + at, bytes - at);
    gst_buffer_unmap(data.get(), &all);
    out.push_back({parts.front()[i].type, shapes[i], std::move(data)});
  }
  return out;
}

/// Runs a frame in a batch if the model has batches, else alone in the streaming thread.
class HostInferencer : public Inferencer {
 public:
  explicit HostInferencer(std::shared_ptr<HostModel> model)
      : model_(std::move(model)), frames_(model_->spec().ahead + 1) {}

  const ModelDeclaration& declaration() const override { return model_->declaration(); }

  Status set_model(const ModelFacts& facts) override {
    KB_TRY(model_->prepare(facts));
    const OnnxSession& session = model_->session();
    if (model_->batches()) {
      join_batches(1);
      return {};
    }
    KB_ASSIGN(auto options, session.run_options());
    options_ = std::move(options);
    KB_TRY(input_.allocate(facts.input.bytes()));
    KB_ASSIGN(auto run,
              HostRun::create(session, options_.get(), facts, {input_.data(), input_.bytes()}, 1));
    run_ = std::move(run);
    return {};
  }

  Status set_frames(Pictures pictures, const GstVideoInfo& info, unsigned max_pending) override {
    makers_.clear();
    crop_maker_.reset();
    for (const PicturePlan& each : pictures.plans) {
      KB_ASSIGN(auto maker, host_backend().input_maker(each.plan));
      makers_.push_back(std::move(maker));
    }
    if (pictures.crops) {
      KB_ASSIGN(crop_maker_, host_backend().crop_maker(*pictures.crops));
    }
    if (member_ && (pictures.max_pictures != pictures_.max_pictures || max_pending != frames_)) {
      frames_ = max_pending;
      join_batches(pictures.max_pictures);
    }
    pictures_ = std::move(pictures);
    info_ = info;
    return {};
  }

  Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order,
                                              std::span<const Crop> crops) override {
    MappedFrame mapped;
    KB_TRY(mapped.map(frame, info_, GST_MAP_READ));
    const FrameInput shown{planes_of(mapped.get()), crops};
    const size_t count = pictures_.crops ? crops.size() : pictures_.plans.size();
    if (!member_) return run_alone(shown, count);
    const auto make = [&](std::span<const Batches::Slot> places,
                          unsigned first) -> Result<std::shared_ptr<void>> {
      for (size_t i = 0; i < places.size(); ++i)
        KB_TRY(make_input(shown, first + i, model_->input(places[i])));
      return nullptr;
    };
    return member_->begin(order, static_cast<unsigned>(count), make);
  }

  void interrupt(bool on) override {
    const std::lock_guard guard(lock_);
    interrupted_ = on;
    if (member_) member_->interrupt(on);
    else model_->session().runtime().terminate(options_.get(), on);
  }

  std::optional<Error> no_batch_reason() const override { return model_->no_batch_reason(); }
  BatchCounts batch_counts() const override {
    const std::lock_guard guard(lock_);
    return member_ ? member_->counts() : BatchCounts{};
  }

 private:
  /// A frame, and its crops if its pictures are of objects.
  struct FrameInput {
    FramePlanes planes;
    std::span<const Crop> crops;
  };

  /// Takes part in the batches with frames of up to that many pictures.
  void join_batches(unsigned pictures) {
    const std::lock_guard guard(lock_);
    member_.reset();
    member_ = std::make_unique<BatchMember>(model_->batches(), frames_, pictures, joined_on_host);
    if (interrupted_) member_->interrupt(true);
  }

  /// Runs the pictures of a frame one after the other.
  Result<std::unique_ptr<PendingFrame>> run_alone(const FrameInput& shown, size_t count) {
    InferTimes times;
    std::vector<std::vector<InferredTensor>> parts;
    for (size_t i = 0; i < count; ++i) {
      KB_ASSIGN(auto tensors, run_picture(shown, i, times));
      parts.push_back(std::move(tensors));
    }
    if (parts.size() == 1) return std::make_unique<StartedFrame>(std::move(parts.front()), times);
    KB_ASSIGN(auto joined, joined_on_host(std::move(parts)));
    return std::make_unique<StartedFrame>(std::move(joined), times);
  }

  /// @param times incremented by what the picture took.
  Result<std::vector<InferredTensor>> run_picture(const FrameInput& shown, size_t number,
                                                  InferTimes& times) {
    const GstClockTime started = gst_util_get_timestamp();
    KB_TRY(make_input(shown, number, input_.data()));
    times.input_us += microseconds_since(started);
    const GstClockTime ready = gst_util_get_timestamp();
    KB_ASSIGN(auto outputs, run_.run());
    times.model_us += microseconds_since(ready);
    std::vector<InferredTensor> out;
    for (ModelOutput& output : outputs) {
      InferredTensor tensor{.type = output.type, .shape = output.shape};
      auto lent = std::make_shared<Lent>(model_, std::move(output.value));
      tensor.data = wrapped_output(std::move(lent), output.data, output.bytes);
      out.push_back(std::move(tensor));
    }
    return out;
  }

  Status make_input(const FrameInput& shown, size_t number, std::byte* input) {
    if (crop_maker_) return crop_maker_->make(shown.planes, shown.crops[number], input, nullptr);
    const auto& [plan, area] = pictures_.plans[number];
    return makers_[number]->make(planes_at(shown.planes, plan.frame, area.x, area.y), input,
                                 nullptr);
  }

  std::shared_ptr<HostModel> model_;
  unsigned frames_;          // pending at a time
  mutable std::mutex lock_;  // guards member_ between its changes and calls of other threads
  std::unique_ptr<BatchMember> member_;
  bool interrupted_ = false;
  OnnxRunOptions options_{nullptr, nullptr};
  InputMemory input_;
  HostRun run_;  // of input_
  Pictures pictures_;
  std::vector<std::unique_ptr<InputMaker>> makers_;  // one per plan
  std::unique_ptr<CropMaker> crop_maker_;            // of objects
  GstVideoInfo info_{};
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec) {
  static auto& shared = *new SharedModels<HostModel>;
  KB_ASSIGN(auto model, shared.get(spec, [&] { return HostModel::open(spec); }));
  return std::make_unique<HostInferencer>(std::move(model));
}

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
                  "lower input-size= or batch-size=, or use a smaller model");
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
    KB_ASSIGN(auto options, model_.session().run_options());
    options_ = std::move(options);
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
    KB_ASSIGN(const auto bound,
              HostRun::create(model_.session(), options_.get(), facts_, pictures, batch));
    const auto begun = Batches::Clock::now();
    KB_ASSIGN(auto outputs, bound.run());
    const std::chrono::duration<double, std::micro> took = Batches::Clock::now() - begun;
    return std::make_shared<HostResult>(model_.shared_from_this(), std::move(outputs), batch,
                                        took.count());
  }

  Status wait(size_t) override { return {}; }
  bool runs_in_launch() const override { return true; }

  void clear_cancel() override { terminate(false); }
  void cancel() override { terminate(true); }

 private:
  void terminate(bool on) { model_.session().runtime().terminate(options_.get(), on); }

  HostModel& model_;
  ModelFacts facts_;
  OnnxRunOptions options_{nullptr, nullptr};
  std::vector<InputMemory> slots_;
};

HostModel::HostModel(SessionSpec spec, std::unique_ptr<OnnxSession> session)
    : spec_(std::move(spec)), session_(std::move(session)), declaration_(session_->declaration()) {}

Result<std::shared_ptr<HostModel>> HostModel::open(const SessionSpec& spec) {
  KB_ASSIGN(auto session, OnnxSession::open(spec));
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
  KB_ASSIGN(const auto model, opened_model(spec_, facts));
  KB_ASSIGN(auto opened, OnnxSession::open(spec_, nullptr, &model));
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
