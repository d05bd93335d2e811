// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on tensors in system memory.
#include <algorithm>
#include <string>
#include <utility>

#include "core/run/backend.h"
#include "gst/infer/batch/member.h"
#include "gst/infer/frameform.h"
#include "gst/infer/host/hostmodel.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/sharedmodels.h"

namespace keepbox {
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

/// Runs a frame in a batch if the model has batches, else alone in the streaming thread.
class HostInferencer : public Inferencer {
 public:
  explicit HostInferencer(std::shared_ptr<HostModel> model) : model_(std::move(model)) {}

  const ModelClaims& claims() const override { return model_->claims(); }

  Status set_model(const ModelFacts& facts) override {
    KB_TRY(model_->prepare(facts));
    const OnnxSession& session = model_->session();
    if (auto batches = model_->batches()) {
      member_ = std::make_unique<BatchMember>(std::move(batches), session.spec().ahead + 1);
      return {};
    }
    auto options = session.run_options();
    if (!options) return std::unexpected(options.error());
    options_ = std::move(*options);
    KB_TRY(input_.allocate(facts.input.bytes()));
    auto inputs = HostInputs::create(session, facts, {input_.data(), input_.bytes()}, 1);
    if (!inputs) return std::unexpected(inputs.error());
    inputs_ = std::move(*inputs);
    return {};
  }

  Status set_frames(const InputPlan& plan, const GstVideoInfo& info) override {
    auto maker = host_backend().input_maker(plan);
    if (!maker) return std::unexpected(maker.error());
    maker_ = std::move(*maker);
    info_ = info;
    return {};
  }

  Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order) override {
    if (!member_) return run_alone(frame);
    return member_->begin(order, [&](const Batches::Place& place) -> Result<std::shared_ptr<void>> {
      KB_TRY(make_input(frame, model_->input(place)));
      return nullptr;
    });
  }

  void interrupt(bool on) override {
    if (member_) member_->interrupt(on);
    else model_->session().runtime().terminate(options_.get(), on);
  }

  std::string why_single() const override { return model_->why_single(); }
  BatchCounts batch_counts() const override { return member_ ? member_->counts() : BatchCounts{}; }

 private:
  Result<std::unique_ptr<PendingFrame>> run_alone(GstBuffer* frame) {
    const GstClockTime started = gst_util_get_timestamp();
    KB_TRY(make_input(frame, input_.data()));
    InferTimes times{.input_us = microseconds_since(started)};
    const GstClockTime ready = gst_util_get_timestamp();
    auto outputs = model_->session().run(inputs_.values(), options_.get());
    if (!outputs) return std::unexpected(outputs.error());
    times.model_us = microseconds_since(ready);
    std::vector<InferredTensor> out;
    for (OnnxOutput& output : *outputs) {
      InferredTensor tensor{.type = output.type, .shape = output.shape};
      auto lent = std::make_shared<Lent>(model_, std::move(output.value));
      tensor.data = wrapped_output(std::move(lent), output.data, output.bytes);
      out.push_back(std::move(tensor));
    }
    return std::make_unique<StartedFrame>(std::move(out), times);
  }

  Status make_input(GstBuffer* buffer, std::byte* input) {
    MappedFrame frame;
    KB_TRY(frame.map(buffer, info_, GST_MAP_READ));
    return maker_->make(planes_of(frame.get()), input, nullptr);
  }

  std::shared_ptr<HostModel> model_;
  std::unique_ptr<BatchMember> member_;
  OnnxRunOptions options_{nullptr, nullptr};
  InputMemory input_;
  HostInputs inputs_;  // of input_
  std::unique_ptr<InputMaker> maker_;
  GstVideoInfo info_{};
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec) {
  static auto& shared = *new SharedModels<HostModel>;
  auto model = shared.get(spec, [&] { return HostModel::open(spec); });
  if (!model) return std::unexpected(model.error());
  return std::make_unique<HostInferencer>(std::move(*model));
}

}  // namespace keepbox
