// SPDX-License-Identifier: LGPL-2.1-or-later
// Modifies shapes and sizes so that they do not fit.
#include <algorithm>

#include "tests/fuzz/frames/frame.h"

namespace keepbox::fuzz {
namespace {

void spoil_shape(Input& input, Shape& shape) {
  std::vector<size_t> dims(shape.dims().begin(), shape.dims().end());
  const size_t at = input.below(static_cast<uint32_t>(dims.size()));
  const auto place = dims.begin() + static_cast<ptrdiff_t>(at);
  const uint32_t how = input.below(9);
  if (dims.empty() || how == 0) dims.insert(place, input.chance(60) ? 1 : draw_dim(input));
  else if (how == 1) dims.erase(place);
  else if (how == 2) dims[at] += 1;
  else if (how == 3) dims[at] -= 1;  // 0 becomes the largest number
  else if (how == 4) std::swap(dims[at], dims[input.below(static_cast<uint32_t>(dims.size()))]);
  else if (how == 5) dims.front() *= input.between(2, 4);
  else if (how == 6) dims[at] *= input.between(2, 4);
  else if (how == 7 && dims[at] % 2 == 0) dims[at] /= 2, dims.front() *= 2;
  else dims[at] = draw_dim(input);
  shape = Shape(dims);
}

/// Sets a dimension that tensors share to 0 in all of them: no images, no anchors or no classes.
void empty_all(Input& input, Frame& frame, const Shape& like) {
  const auto dims = like.dims();
  if (dims.empty()) return;
  const size_t shared = dims[input.below(static_cast<uint32_t>(dims.size()))];
  for (Tensor& tensor : frame.tensors) {
    std::vector<size_t> changed(tensor.shape.dims().begin(), tensor.shape.dims().end());
    std::ranges::replace(changed, shared, size_t{0});
    tensor.shape = Shape(changed);
    allocate(input, tensor);
  }
}

}  // namespace

size_t draw_dim(Input& input) {
  static constexpr size_t kDims[] = {1,  1,  2,  3,  4,  5,   6,   7,   8,   16,  21,   32,   56,
                                     63, 64, 65, 84, 85, 100, 117, 300, 336, 525, 2047, 2048, 8400};
  static constexpr size_t kHuge[] = {0,
                                     0,
                                     size_t{1} << 21,
                                     (size_t{1} << 21) + 1,
                                     size_t{1} << 31,
                                     size_t{1} << 32,
                                     (size_t{1} << 32) + 1,
                                     size_t{1} << 61,
                                     size_t{1} << 63,
                                     ~size_t{0},
                                     ~size_t{0} / 8};
  return input.chance(8) ? input.pick(kHuge) : input.pick(kDims);
}

void spoil(Input& input, Frame& frame) {
  frame.spoiled = true;
  if (frame.tensors.empty()) return;
  const size_t at = input.below(static_cast<uint32_t>(frame.tensors.size()));
  const size_t other = input.below(static_cast<uint32_t>(frame.tensors.size()));
  Tensor& tensor = frame.tensors[at];
  const uint32_t how = input.below(8);
  if (how == 7) return empty_all(input, frame, Shape(tensor.shape));
  if (how == 0 && frame.tensors.size() > 1) {
    frame.tensors.erase(frame.tensors.begin() + static_cast<ptrdiff_t>(at));
    frame.planes.erase(frame.planes.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  if (how == 1) tensor.id = input.text(12);
  else if (how == 2) tensor.bytes -= std::min<size_t>(tensor.bytes, input.between(1, 9));
  else if (how == 3) tensor.bytes += input.below(9);
  else if (how == 4) std::swap(tensor.shape, frame.tensors[other].shape);
  else {
    spoil_shape(input, tensor.shape);
    if (input.chance(90)) allocate(input, tensor);
  }
  back_with_memory(tensor);
}

}  // namespace keepbox::fuzz
