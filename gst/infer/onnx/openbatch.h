// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds out by trial whether a model returns the same results in batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/plan/input.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/session.h"

namespace keepbox {

// Makes models that were exported for one picture run on batches.

/// Returns a copy of an ONNX model whose first dimension of 1 is open in all inputs and outputs,
/// and in constant shapes of Reshape. kUnsupported if the file has no such inputs. The result must
/// be compared with the model before use.
Result<std::string> open_batch(const std::string& file);

/// Returns open_batch() of a model that gives the same results in a batch. kUnsupported if it does
/// not. Loads the model twice on the CPU. @param spec of the model, on any provider.
Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts);

/// Returns check_parts() of a session on the CPU, which is opened only if an output may be such:
/// a table whose number of rows is not fixed. @param spec of the model, on any provider.
Status check_tables(SessionSpec spec, const ModelDeclaration& declaration, const ModelFacts& facts);

// Proofs by runs on pictures that a model's batches can be divided into pictures.

/// Returns the error of a model that cannot run batches. @param found the reason.
std::unexpected<Error> no_batch(const std::string& found);

/// Runs the pictures of draw_tried() one by one and as a batch: bright, dark and structured ones
/// together, because a model may mix only some. kUnsupported if the outputs differ by more than
/// rounding, with the name of the output.
/// @param one a session of the model. @param many a session of a copy with an open batch.
/// @param half the model computes in float16, so that outputs of float32 and float64 are rounded
/// like float16.
Status compare_batches(const OnnxSession& one, const OnnxSession& many, const ModelFacts& facts,
                       bool half);

/// Runs a picture of noise in all places of a batch, and checks that each output has a part per
/// picture. kUnsupported with the name of one that has not: its first dimension is not the batch,
/// or its rows begin with the number of their picture, as those of ONNX's NonMaxSuppression.
Status check_parts(const OnnxSession& session, const ModelFacts& facts, unsigned batch);

// Pictures that a model is tried with.

/// Number of pictures of draw_tried().
inline constexpr unsigned kTriedPictures = 4;

/// Returns a pixel (R, G, B) of squares in two greys with a small red and a small blue one, whose
/// edges and colours make detectors respond.
std::array<uint8_t, 3> pixel_of_squares(uint32_t x, uint32_t y);

/// Fills the input of a model with pictures, one after the other: noise, black, squares, white.
/// @param to has room for kTriedPictures, or for the first ones.
void draw_tried(std::span<std::byte> to, const InputForm& input);

}  // namespace keepbox
