// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as a family has them, and as no family does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/coding.h"
#include "core/detector.h"
#include "core/letterbox.h"
#include "core/tensor.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// A tensor whose memory ends with its last byte, so that an address sanitizer sees what reads on.
struct Tensor {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  float scale = 1, zero_point = 0;
  std::unique_ptr<std::byte[]> memory;
  size_t bytes = 0, shift = 0;  // where the data begins

  TensorView view() const;
};

/// How a tensor's numbers lie, and what they are of.
struct Plane {
  const DetectorSpec* spec = nullptr;
  Role role = Role::kAll;
  size_t channels = 1;      // of an anchor
  size_t inner = 1;         // numbers from a channel to the next
  uint32_t classes = 1;
  uint32_t stride = 0;      // of the level; 0: all of them
  bool prototypes = false;

  size_t channel(size_t index) const { return index / inner % channels; }
  size_t anchor(size_t index) const { return index / (inner * channels) * inner + index % inner; }
};

/// What the tensors of a frame were drawn as.
struct Frame {
  std::vector<Tensor> tensors;
  std::vector<Plane> planes;   // of each
  Size model;
  uint32_t classes = 1;        // without a background
  size_t anchors = 0;
  std::vector<Prior> priors;   // where the family wants some
  bool spoiled = false;        // made to fit no more
};

/// Tensors that a model of a family could write. @param spec outlives the frame's use.
Frame draw_frame(Input& input, const DetectorSpec& spec);

/// Tensors of any shape, type and size.
Frame draw_absurd(Input& input, const DetectorSpec& spec);

/// Makes shapes or sizes a little wrong.
void spoil(Input& input, Frame& frame);

/// Gives tensors other numbers: boxes and scores such as models write, with odd ones among them.
void fill(Input& input, Frame& frame);

std::vector<TensorView> views_of(const Frame& frame);

}  // namespace keepbox::fuzz
