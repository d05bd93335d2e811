// SPDX-License-Identifier: LGPL-2.1-or-later
// Proofs by runs on pictures that a model's batches can be divided into pictures.
#pragma once

#include "core/base/result.h"
#include "gst/infer/modelsession.h"

namespace keepbox {

/// Returns the error of a model that cannot run batches. @param found the reason.
std::unexpected<Error> no_batch(const std::string& found);

/// Runs the pictures of draw_tried() one by one and as a batch: bright, dark and structured ones
/// together, because a model may mix only some. kUnsupported if the outputs differ by more than
/// rounding, with the name of the output.
/// @param one a session of the model. @param many a session of a copy with an open batch.
/// @param half the model computes in float16, so that outputs of float32 and float64 are rounded
/// like float16.
Status compare_batches(const ModelSession& one, const ModelSession& many, const ModelFacts& facts,
                       bool half);

/// Runs a picture of noise in all places of a batch, and checks that each output has a part per
/// picture. kUnsupported with the name of one that has not: its first dimension is not the batch,
/// or its rows begin with the number of their picture, as those of ONNX's NonMaxSuppression.
Status check_parts(const ModelSession& session, const ModelFacts& facts, unsigned batch);

}  // namespace keepbox
