// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on tensors in system memory.
#include <new>
#include <string>

#include "core/run/backend.h"
#include "gst/infer/frameform.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/sharedmodels.h"

namespace keepbox {
namespace {

constexpr size_t kAlignment = 64;

/// A tensor's data, and the memory it is in.
struct Lent {
  std::shared_ptr<const OnnxSession> session;
  OnnxValue value;  // destroyed first
};

void give_back(gpointer lent) { delete static_cast<Lent*>(lent); }

OwnedBuffer wrapped(std::shared_ptr<const OnnxSession> session, OnnxOutput output) {
  OwnedBuffer buffer(gst_buffer_new());
  if (output.bytes == 0) return buffer;
  std::byte* const data = output.data;
  gst_buffer_append_memory(
      buffer.get(),
      gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, data, output.bytes, 0, output.bytes,
                             new Lent{std::move(session), std::move(output.value)}, give_back));
  return buffer;
}

double microseconds_since(GstClockTime start) {
  return static_cast<double>(gst_util_get_timestamp() - start) / GST_USECOND;
}

const Backend& host_backend() {
  const auto reads_host = [](const Backend& backend) {
    return backend.memory == MemorySpace::kSystem && backend.input_maker != nullptr;
  };
  return *std::ranges::find_if(backends(), reads_host);
}

struct Free {
  void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t{kAlignment}); }
};

class HostInferencer : public Inferencer {
 public:
  explicit HostInferencer(std::shared_ptr<const OnnxSession> session)
      : session_(std::move(session)) {}

  const ModelClaims& claims() const override { return session_->claims(); }

  Status set_model(const ModelFacts& facts) override {
    const auto& ports = claims().inputs;
    auto options = session_->run_options();
    if (!options) return std::unexpected(options.error());
    options_ = std::move(*options);
    input_bytes_ = facts.input.bytes();
    input_.reset(static_cast<std::byte*>(
        ::operator new(input_bytes_, std::align_val_t{kAlignment}, std::nothrow)));
    if (input_ == nullptr)
      return fail(ErrorKind::kNoResource, std::to_string(input_bytes_) + " bytes of memory", "less",
                  "lower input-width= and input-height=, or use a smaller model");
    for (size_t i = 0; i < ports.size(); ++i)
      values_.emplace_back(nullptr, session_->runtime().api().ReleaseValue);
    extras_.resize(ports.size());
    KB_TRY(bind(facts.image_input, input_.get(), input_bytes_, facts.input.type,
                bound_dims(ports[facts.image_input], facts.input)));
    for (const SizeInput& extra : facts.size_inputs) {
      auto made = make_extra(ports[extra.index], extra.kind, facts.input.size);
      if (!made) return std::unexpected(made.error());
      auto& values = extras_[extra.index] = std::move(made->values);
      KB_TRY(bind(extra.index, values.data(), made->bytes, *ports[extra.index].type, made->dims));
    }
    return {};
  }

  Status set_frames(const InputPlan& plan, const GstVideoInfo& info) override {
    auto maker = host_backend().input_maker(plan);
    if (!maker) return std::unexpected(maker.error());
    maker_ = std::move(*maker);
    info_ = info;
    return {};
  }

  Result<std::vector<InferredTensor>> infer(GstBuffer* frame) override {
    const GstClockTime started = gst_util_get_timestamp();
    KB_TRY(make_input(frame));
    times_.input_us = microseconds_since(started);
    const GstClockTime ready = gst_util_get_timestamp();
    std::vector<const ort::Value*> inputs;
    for (const OnnxValue& value : values_) inputs.push_back(value.get());
    auto outputs = session_->run(inputs, options_.get());
    if (!outputs) return std::unexpected(outputs.error());
    times_.model_us = microseconds_since(ready);
    std::vector<InferredTensor> out;
    for (OnnxOutput& output : *outputs) {
      InferredTensor tensor{.type = output.type, .shape = output.shape};
      tensor.data = wrapped(session_, std::move(output));
      out.push_back(std::move(tensor));
    }
    return out;
  }

  void interrupt(bool on) override { session_->runtime().terminate(options_.get(), on); }

  InferTimes times() const override { return times_; }

 private:
  Status bind(size_t index, std::byte* data, size_t bytes, DataType type,
              std::span<const int64_t> dims) {
    auto value = session_->tensor(data, bytes, type, dims);
    if (!value) return std::unexpected(value.error());
    values_[index] = std::move(*value);
    return {};
  }

  Status make_input(GstBuffer* buffer) {
    MappedFrame frame;
    KB_TRY(frame.map(buffer, info_, GST_MAP_READ));
    return maker_->make(planes_of(frame.get()), input_.get(), nullptr);
  }

  std::shared_ptr<const OnnxSession> session_;
  OnnxRunOptions options_{nullptr, nullptr};
  std::unique_ptr<std::byte, Free> input_;
  size_t input_bytes_ = 0;
  std::vector<ScratchBuffer<std::byte>> extras_;  // values of extra inputs, by index
  std::vector<OnnxValue> values_;                 // by index
  std::unique_ptr<InputMaker> maker_;
  GstVideoInfo info_{};
  InferTimes times_;
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec) {
  static auto& shared = *new SharedModels<const OnnxSession>;
  auto session = shared.get(spec, [&]() -> Result<std::shared_ptr<const OnnxSession>> {
    auto opened = OnnxSession::open(spec);
    if (!opened) return std::unexpected(opened.error());
    return std::shared_ptr<const OnnxSession>(std::move(*opened));
  });
  if (!session) return std::unexpected(session.error());
  return std::make_unique<HostInferencer>(std::move(*session));
}

}  // namespace keepbox
