// SPDX-License-Identifier: LGPL-2.1-or-later
// What a model's inputs are bound with, and what its outputs have to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/scratch.h"
#include "gst/infer/facts/modelfacts.h"

namespace keepbox {

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

}  // namespace keepbox
