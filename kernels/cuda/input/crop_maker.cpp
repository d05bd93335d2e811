// SPDX-License-Identifier: LGPL-2.1-or-later
// Crop maker on the device: its arguments and the launch.
#include "kernels/cuda/host/cuda.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/input/crop.h"

namespace keepbox::cuda {
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
