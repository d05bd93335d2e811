// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on tensors in system memory.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "core/run/backend.h"
#include "gst/infer/batch/member.h"
#include "gst/infer/frameform.h"
#include "gst/infer/host/hostmodel.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/runs/hostrun.h"
#include "gst/infer/sharedmodels.h"

namespace keepbox {
namespace {

/// Outputs, and the model that they must not outlive.
struct Lent {
  std::shared_ptr<const HostModel> model;
  RuntimeTensor value;  // destroyed first
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
                    "set fewer tiles, or lower max-objects=");
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
    const ModelSession& session = model_->session();
    if (model_->batches()) {
      join_batches(1);
      return {};
    }
    KB_ASSIGN(auto runs, session.runs());
    runs_ = std::move(runs);
    KB_TRY(input_.allocate(facts.input.bytes()));
    KB_ASSIGN(auto run,
              HostRun::create(session, *runs_, facts, {input_.data(), input_.bytes()}, 1));
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
    else runs_->terminate(on);
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
  std::unique_ptr<ModelRuns> runs_;
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

}  // namespace keepbox
