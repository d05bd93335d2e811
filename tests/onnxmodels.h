// SPDX-License-Identifier: LGPL-2.1-or-later
// Small models for tests. The detectors find pure red (class 0) and pure blue (class 1): one box
// per colour in pixels of the input, whose score is the fraction of a cell that the colour fills.
// Wrong ranges and swapped channels change the boxes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/onnxfile.h"

namespace keepbox::test {

/// Size of a model input.
struct ModelSize {
  int64_t height = 320, width = 320;  // multiples of 32
};

/// Returns a model whose `output` is `images`. @param dims in the order of the layout; names are
/// dynamic.
onnx::Model identity_model(std::vector<onnx::Dim> dims, onnx::Type type = onnx::Type::kFloat);

/// Returns a detector with Ultralytics' metadata: R, G, B in 0..1, `output0` 1x6xN, with classes
/// disc and bar. @param dynamic batch, height and width have names, and imgsz contains the size.
onnx::Model ultralytics_like(ModelSize size, bool dynamic = false);

/// Returns a model like YOLOX as exported by default: `images` B, G, R in 0..255, undecoded
/// `output` 1xNx7.
onnx::Model yolox_like(ModelSize size);

/// Returns a model like D-FINE: R, G, B in 0..1 and `orig_target_sizes` (width, height); `labels`
/// int64 and `scores` 1x300, `boxes` 1x300x4 with corners in pixels of that size.
onnx::Model dfine_like(ModelSize size);

/// Returns a model like PaddleDetection: `image` R, G, B in 0..1 and `scale_factor` (y, x); `rows`
/// Mx6 of class, score and corners divided by that factor, `count` int32; M is the number of
/// objects found.
onnx::Model paddle_like(ModelSize size);

/// Returns a model with int64 1x16 input and output, which is not a picture.
onnx::Model text_model();

/// Returns identity_model() with an operator set that no runtime knows.
onnx::Model too_new_model();

/// Returns a model whose weights are in "weights.bin" in the same folder.
onnx::Model external_data_model();

/// Returns a model that reduces a picture to one number with `operators` consecutive operators on a
/// million numbers, each of which takes milliseconds.
onnx::Model slow_model(int operators);

/// Returns a model whose file takes seconds to load: the runtime computes `operators` consecutive
/// operators on a million constants, each of which takes milliseconds.
onnx::Model slow_to_load_model(int operators);

/// Returns a model that ends in ONNX's NonMaxSuppression: `boxes` Bx8x4, `scores` Bx1x8 and
/// `selected` Nx3 of image, class and box, with the first 8 pixels above 0.3 as scores, up to
/// `most` per picture. Input Bx3x48x64.
onnx::Model selecting_model(const onnx::Dim& batch, int64_t most);

/// Returns a model like TensorRT's EfficientNMS: `num_dets` Bx1, `det_boxes` Bx8x4, `det_scores`
/// and `det_classes` Bx8. Input Bx3x48x64.
onnx::Model counting_model(const onnx::Dim& batch);

/// Returns a detector of three convolutions with random weights and Ultralytics' metadata:
/// `output0` 1x6x64 for an input of 1x3x64x64.
onnx::Model random_detector();

/// Returns a model whose output has 2^45 elements, with dimensions unknown from the file.
onnx::Model huge_model();

/// Returns a model that outputs its input rounded towards zero, as int64 1xN.
onnx::Model int64_output_model(ModelSize size);

/// Returns a model whose pictures in a batch depend on each other if one of them is bright:
/// `output` 1x3, means of the channels plus how far the brightest one of the batch is above 0.8.
/// Input 1x3x48x64 in 0..1.
onnx::Model mixing_model();

/// Adds outputs that cannot be attached to a frame: `words` of strings, `list`, a sequence, and
/// `nine` with nine dimensions.
void add_odd_outputs(onnx::Model& model);

/// Returns a model with the outputs `same`, equal to the input, and `mean`, 1x3x1x1.
onnx::Model two_outputs_model(ModelSize size);

}  // namespace keepbox::test
