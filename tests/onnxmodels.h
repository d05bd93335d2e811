// SPDX-License-Identifier: LGPL-2.1-or-later
// Small models for tests. The detectors among them find pure red (class 0) and pure blue (class 1)
// in their input: the colour's box, in pixels of the input, with the part of a cell that the colour
// fills as its score. Wrong ranges and swapped channels are seen in what they find.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/onnxfile.h"

namespace keepbox::test {

/// Sides of a model's input.
struct ModelSize {
  int64_t height = 320, width = 320;  // multiples of 32
};

/// `output` is `images`. @param dims as the layout has them; names make them dynamic.
onnx::Model identity_model(std::vector<onnx::Dim> dims, onnx::Type type = onnx::Type::kFloat);

/// Ultralytics' detector and its metadata: R, G, B in 0..1, `output0` 1x6xN of classes disc and
/// bar.
/// @param dynamic batch and sides have names, and imgsz tells the size.
onnx::Model ultralytics_like(ModelSize size, bool dynamic = false);

/// YOLOX as exported by default: `images` B, G, R in 0..255, `output` 1xNx7 before its decoding.
onnx::Model yolox_like(ModelSize size);

/// D-FINE: R, G, B in 0..1 and `orig_target_sizes` (width, height); `labels` int64 and `scores`
/// 1x300, `boxes` 1x300x4, corners in the pixels of those sizes.
onnx::Model dfine_like(ModelSize size);

/// PaddleDetection: `image` R, G, B in 0..1 and `scale_factor` (y, x); `rows` Mx6 of class, score
/// and corners by that factor, `count` int32; M is what was found.
onnx::Model paddle_like(ModelSize size);

/// int64 1x16 in and out: no picture.
onnx::Model text_model();

/// identity_model() of an operator set that no runtime knows.
onnx::Model too_new_model();

/// Its weights are said to lie in "weights.bin" beside it.
onnx::Model external_data_model();

/// `output` is a number for a picture, of so many operators one after the other on a million
/// numbers each: milliseconds an operator.
onnx::Model slow_model(int operators);

/// Its output has 2^45 elements, which the file does not say.
onnx::Model huge_model();

/// The input's numbers, rounded down, as int64 1xN.
onnx::Model int64_output_model(ModelSize size);

/// Adds outputs that no tensor of a frame can be: `words` of strings, `list`, a sequence, and
/// `nine` with as many dimensions.
void add_odd_outputs(onnx::Model& model);

/// `same` is the input, `mean` 1x3x1x1.
onnx::Model two_outputs_model(ModelSize size);

}  // namespace keepbox::test
