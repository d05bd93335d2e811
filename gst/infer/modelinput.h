// SPDX-License-Identifier: LGPL-2.1-or-later
// Which of a model's inputs is the picture, how large it is, and what the others want.
#pragma once

#include <string>
#include <vector>

#include "gst/infer/metadata.h"
#include "gst/infer/modelfacts.h"

namespace keepbox {

/// The picture among the inputs.
struct ImageInput {
  size_t index = 0;
  DataType type = DataType::kFloat32;
  bool channels_last = false;
  uint8_t channels = 3;
  Size size;  // 0 for sides that are dynamic
};

struct ModelInputs {
  ImageInput image;
  std::vector<SizeInput> sizes;

  bool wants(SizeInput::Kind kind) const;
};

/// "images 1x3x640x640 float32; orig_target_sizes 1x2 int64", or "none"
std::string ports_text(const std::vector<ModelPort>& ports);

/// Finds them. kUnsupported for models without a picture, with several, with batches, and with
/// inputs that nobody can fill; the error lists them.
Result<ModelInputs> find_inputs(const ModelClaims& claims);

/// The size that frames are made to. kInvalid where settings contradict the model, or where nobody
/// knows. @param remarks gets where it comes from when the model leaves it open.
Result<Size> settle_size(const ModelClaims& claims, const ImageInput& image,
                         const ModelMetadata& metadata, Size set,
                         std::vector<std::string>& remarks);

}  // namespace keepbox
