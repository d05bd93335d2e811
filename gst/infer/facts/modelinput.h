// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the picture among a model's inputs, its size, and the values of other inputs.
#pragma once

#include <string>
#include <vector>

#include "gst/infer/facts/metadata.h"
#include "gst/infer/facts/modelfacts.h"

namespace keepbox {

/// The input that takes the picture.
struct ImageInput {
  size_t index = 0;
  DataType type = DataType::kFloat32;
  bool channels_last = false;
  uint8_t channels = 3;
  Size size;  // 0 for dynamic sides
};

struct ModelInputs {
  ImageInput image;
  std::vector<SizeInput> sizes;
};

/// Formats "images 1x3x640x640 float32; orig_target_sizes 1x2 int64", or "none".
std::string ports_text(const std::vector<ModelPort>& ports);

/// Finds the inputs. kUnsupported for models without a picture, with several, with batches, or with
/// inputs that cannot be filled; the error lists them.
Result<ModelInputs> find_inputs(const ModelDeclaration& declaration);

/// Returns the stride, in pixels, of an input whose size may follow the frame's. kUnsupported if
/// the model has a fixed width or height.
Result<uint32_t> rectangle_stride(const ModelDeclaration& declaration, const ImageInput& image,
                                  const ModelMetadata& metadata);

/// Settles the size of the input. kInvalid if settings contradict the model, or if the size is
/// unknown. @param remarks gets the origin of a size that the model leaves dynamic.
Result<Size> settle_size(const ModelDeclaration& declaration, const ImageInput& image,
                         const ModelMetadata& metadata, Size set,
                         std::vector<std::string>& remarks);

}  // namespace keepbox
