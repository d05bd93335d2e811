// SPDX-License-Identifier: LGPL-2.1-or-later
// Makers of a model's input on the device.

#include "kernels/cuda/backend.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/input/input.h"

namespace keepbox::cuda {
namespace {

class Maker final : public InputMaker {
 public:
  Status prepare(const InputPlan& plan);
  Status make(const FramePlanes& frame, void* input, void* stream) override;

 private:
  FrameForm frame_;
  DeviceBlob tables_;
  InputArgs args_;
};

Status Maker::prepare(const InputPlan& plan) {
  frame_ = plan.frame;
  args_.rules = plan.rules;
  args_.width = plan.input.size.width;
  args_.height = plan.input.size.height;
  args_.left = plan.place.x;
  args_.top = plan.place.y;
  args_.across = plan.place.width;
  args_.down = plan.place.height;
  std::vector<Tap> taps;
  for (size_t i = 0; i < 3; ++i) {
    taps.insert(taps.end(), plan.columns[i].begin(), plan.columns[i].end());
    taps.insert(taps.end(), plan.rows[i].begin(), plan.rows[i].end());
  }
  KB_ASSIGN(tables_, allocate_device(taps.size() * sizeof(Tap)));
  // A copy on the default stream, complete on return, for streams that do not wait for that stream.
  KB_TRY_CUDA(
      cudaMemcpy(tables_.get(), taps.data(), taps.size() * sizeof(Tap), cudaMemcpyHostToDevice));
  KB_TRY_CUDA(cudaStreamSynchronize(nullptr));
  const auto* at = reinterpret_cast<const Tap*>(tables_.get());
  for (size_t i = 0; i < 3; ++i) {
    args_.components[i].step = plan.frame.components[i].step;
    args_.components[i].columns = at;
    args_.components[i].rows = at + plan.columns[i].size();
    at += plan.columns[i].size() + plan.rows[i].size();
  }
  KB_TRY_CUDA(load_input());
  return {};
}

Status Maker::make(const FramePlanes& frame, void* input, void* stream) {
  for (size_t i = 0; i < 3; ++i) {
    const FrameComponent& each = frame_.components[i];
    args_.components[i].data = frame.data[each.plane] + each.offset;
    args_.components[i].stride = frame.stride[each.plane];
  }
  KB_TRY_CUDA(launch_input(args_, input, static_cast<cudaStream_t>(stream)));
  return {};
}

}  // namespace

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan) {
  auto maker = std::make_unique<Maker>();
  KB_TRY(maker->prepare(plan));
  return maker;
}

namespace {

class CropInputMaker final : public CropMaker {
 public:
  explicit CropInputMaker(const CropPlan& plan) : frame_(plan.frame) {
    args_.rules = plan.rules;
    args_.frame_width = static_cast<float>(plan.frame.size.width);
    args_.frame_height = static_cast<float>(plan.frame.size.height);
    args_.width = plan.input.size.width;
    args_.height = plan.input.size.height;
    for (size_t i = 0; i < 3; ++i) {
      const FrameComponent& each = plan.frame.components[i];
      args_.components[i] = {.across = each.samples_per_row(plan.frame.size.width),
                             .down = each.samples_per_column(plan.frame.size.height),
                             .step = each.step,
                             .sub_x = each.sub_x,
                             .sub_y = each.sub_y,
                             .shift_x = each.shift_x,
                             .shift_y = each.shift_y};
    }
  }

  Status make(const FramePlanes& frame, const Crop& crop, void* input, void* stream) override {
    for (size_t i = 0; i < 3; ++i) {
      const FrameComponent& each = frame_.components[i];
      args_.components[i].data = frame.data[each.plane] + each.offset;
      args_.components[i].stride = frame.stride[each.plane];
    }
    args_.map = crop.map;
    args_.left = crop.place.x;
    args_.top = crop.place.y;
    args_.across = crop.place.width;
    args_.down = crop.place.height;
    KB_TRY_CUDA(launch_crop(args_, input, static_cast<cudaStream_t>(stream)));
    return {};
  }

 private:
  FrameForm frame_;
  CropArgs args_;
};

}  // namespace

Result<std::unique_ptr<CropMaker>> crop_maker(const CropPlan& plan) {
  auto maker = std::make_unique<CropInputMaker>(plan);
  KB_TRY_CUDA(load_crop());
  return maker;
}

}  // namespace keepbox::cuda
