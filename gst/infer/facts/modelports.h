// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs and outputs of a model: the picture's input, and what all are bound with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/scratch.h"
#include "gst/infer/facts/metadata.h"
#include "gst/infer/facts/modelfacts.h"

namespace keepbox {

// Values that a model's inputs are bound with, and requirements of its outputs.

/// An input in addition to the picture, such as the picture's size.
struct ExtraInput {
  std::vector<int64_t> dims;  // what it is bound with
  ScratchBuffer<std::byte> memory;
  std::span<std::byte> values;  // in that memory, in the port's type
};

/// Makes an extra input for a batch of pictures of one size. kUnsupported for a port of a type that
/// such inputs lack, or for a mask larger than the picture; kNoResource.
Result<ExtraInput> make_extra(const ModelPort& port, SizeInput::Kind kind, Size input,
                              unsigned batch);

/// Returns the dimensions that the picture's port is bound with: the first of four is the batch,
/// and dynamic ones become the picture's size.
std::vector<int64_t> bound_dims(const ModelPort& port, const InputForm& input, unsigned batch);

/// True if inputs of both forms have the same shape and type, whatever their values mean.
bool same_memory(const InputForm& a, const InputForm& b);

/// Returns the error of a model that cannot run batches because of an output.
/// @param declaration of the model. @param found the output, and what is wrong with it.
std::unexpected<Error> no_slices(const ModelDeclaration& declaration, std::string found);

/// Checks that an output has one part per picture. kUnsupported with its name if it does not.
/// @param output its number in the model.
Status check_slices(const ModelDeclaration& declaration, size_t output, const Shape& shape,
                    unsigned batch);

// Finds the picture among a model's inputs, its size, and the values of other inputs.

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
