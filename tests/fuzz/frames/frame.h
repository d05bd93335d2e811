// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that match a family, and tensors that match none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/formula/coding.h"
#include "core/formula/letterbox.h"
#include "core/model/detector.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// A tensor whose memory ends with its last byte, so that AddressSanitizer detects reads beyond it.
struct Tensor {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  float scale = 1, zero_point = 0;
  std::unique_ptr<std::byte[]> memory;
  size_t bytes = 0, shift = 0;  // shift: offset of the data

  TensorView view() const;
};

/// The layout and meaning of a tensor's values.
struct Plane {
  const DetectorSpec* spec = nullptr;
  Role role = Role::kAll;
  size_t channels = 1;  // per anchor
  size_t inner = 1;     // values between channels
  uint32_t classes = 1;
  uint32_t stride = 0;  // of the level; 0: all levels
  bool prototypes = false;

  size_t channel(size_t index) const { return index / inner % channels; }
  size_t anchor(size_t index) const { return index / (inner * channels) * inner + index % inner; }
};

/// The tensors of a frame, and what they were drawn as.
struct Frame {
  std::vector<Tensor> tensors;
  std::vector<Plane> planes;  // one per tensor
  Size model;
  uint32_t classes = 1;  // not counting a background
  size_t anchors = 0;
  std::vector<Prior> priors;  // if the family requires them
  bool spoiled = false;       // modified so that they do not fit
};

/// Draws tensors that a model of a family could output. @param spec outlives the frame.
Frame draw_frame(Input& input, const DetectorSpec& spec);

/// Tensors of any shape, type and size.
Frame draw_absurd(Input& input, const DetectorSpec& spec);

/// Allocates memory for the shape or, if that is too much, for some of it.
void allocate(Input& input, Tensor& tensor);
/// Backs a tensor's bytes with memory.
void back_with_memory(Tensor& tensor);

/// Returns a dimension, typical of models or not.
size_t draw_dim(Input& input);

/// Changes shapes or sizes slightly.
void spoil(Input& input, Frame& frame);

/// Fills tensors with new values: typical boxes and scores, with odd ones among them.
void fill(Input& input, Frame& frame);

std::vector<TensorView> views_of(const Frame& frame);

}  // namespace keepbox::fuzz
