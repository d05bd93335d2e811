// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes a model's input from a frame or from cut-outs.
#include "kernels/cuda/input/input.h"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kBlockWidth = 64, kBlockHeight = 4;  // threads per block

__device__ Tap tap(const Tap* taps, uint32_t at) {
  return {__ldg(&taps[at].first), __ldg(&taps[at].next), __ldg(&taps[at].weight)};
}

__device__ float value_of(const DeviceComponent& component, uint32_t x, uint32_t y) {
  const Tap row = tap(component.rows, y);
  const ptrdiff_t stride = component.stride;
  return sample(component.data + row.first * stride, component.data + row.next * stride,
                component.step, tap(component.columns, x), row.weight);
}

template <class T>
__global__ void make_input(const __grid_constant__ InputArgs args, T* input) {
  const uint32_t x = blockIdx.x * kBlockWidth + threadIdx.x,
                 y = blockIdx.y * kBlockHeight + threadIdx.y;
  if (x >= args.width || y >= args.height) return;
  const PixelRules& rules = args.rules;
  float values[3] = {rules.padding[0], rules.padding[1], rules.padding[2]};
  const uint32_t column = x - args.left, row = y - args.top;  // wrap around outside
  if (column < args.across && row < args.down)
    to_channels(rules, value_of(args.components[0], column, row),
                value_of(args.components[1], column, row),
                value_of(args.components[2], column, row), values);
  T* const to = input + (size_t{y} * args.width + x) * rules.pixel_step;
#pragma unroll
  for (uint32_t i = 0; i < 3; ++i)
    if (i < rules.channels) store_value(to + i * rules.channel_step, values[i]);
}

}  // namespace

cudaError_t launch_input(const InputArgs& args, void* input, cudaStream_t stream) {
  const dim3 block(kBlockWidth, kBlockHeight);
  const dim3 grid((args.width + kBlockWidth - 1) / kBlockWidth,
                  (args.height + kBlockHeight - 1) / kBlockHeight);
  with_input_type(args.rules.type, [&](auto type) {
    make_input<<<grid, block, 0, stream>>>(args, static_cast<decltype(type)*>(input));
  });
  return cudaGetLastError();
}

cudaError_t load_input() {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, make_input<float>);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, make_input<uint16_t>);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, make_input<uint8_t>);
  return error;
}

namespace {

constexpr uint32_t kCropWidth = 32, kCropHeight = 8;  // threads per block

__device__ float value_at(const CropComponent& each, const CropPoint& at) {
  const Tap column = crop_tap(at.x, each.sub_x, each.shift_x, each.across);
  const Tap row = crop_tap(at.y, each.sub_y, each.shift_y, each.down);
  const ptrdiff_t stride = each.stride;
  return sample(each.data + row.first * stride, each.data + row.next * stride, each.step, column,
                row.weight);
}

template <class T>
__global__ void make_crop(const __grid_constant__ CropArgs args, T* input) {
  const uint32_t x = blockIdx.x * kCropWidth + threadIdx.x,
                 y = blockIdx.y * kCropHeight + threadIdx.y;
  if (x >= args.width || y >= args.height) return;
  const PixelRules& rules = args.rules;
  float values[3] = {rules.padding[0], rules.padding[1], rules.padding[2]};
  const CropPoint at = crop_point(args.map, x, y);
  // Differences wrap around left of and above the rectangle.
  if (x - args.left < args.across && y - args.top < args.down &&
      has_pixel(args.frame_width, args.frame_height, at))
    to_channels(rules, value_at(args.components[0], at), value_at(args.components[1], at),
                value_at(args.components[2], at), values);
  T* const to = input + (size_t{y} * args.width + x) * rules.pixel_step;
#pragma unroll
  for (uint32_t i = 0; i < 3; ++i)
    if (i < rules.channels) store_value(to + i * rules.channel_step, values[i]);
}

}  // namespace

cudaError_t launch_crop(const CropArgs& args, void* input, cudaStream_t stream) {
  const dim3 block(kCropWidth, kCropHeight);
  const dim3 grid((args.width + kCropWidth - 1) / kCropWidth,
                  (args.height + kCropHeight - 1) / kCropHeight);
  with_input_type(args.rules.type, [&](auto type) {
    make_crop<<<grid, block, 0, stream>>>(args, static_cast<decltype(type)*>(input));
  });
  return cudaGetLastError();
}

cudaError_t load_crop() {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, make_crop<float>);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, make_crop<uint16_t>);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, make_crop<uint8_t>);
  return error;
}

}  // namespace keepbox::cuda
