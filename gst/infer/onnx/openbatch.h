// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes models that were exported for one picture run on batches.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/onnxsession.h"

namespace keepbox {

/// Returns a copy of an ONNX model whose first dimension of 1 is open in all inputs and outputs,
/// and in constant shapes of Reshape. kUnsupported if the file has no such inputs. The result must
/// be compared with the model before use.
Result<std::string> open_batch(const std::string& file);

/// Runs random pictures one by one and as a batch of three on the CPU. kUnsupported if the outputs
/// differ by more than rounding, with the name of the output.
/// @param one a session of the model. @param many a session of open_batch() of it.
Status compare_batches(const OnnxSession& one, const OnnxSession& many, const ModelFacts& facts);

/// Runs a random picture in all places of a batch, and checks that each output has a part per
/// picture. kUnsupported with the name of one that has not: its first dimension is not the batch,
/// or its rows begin with the number of their picture, as those of ONNX's NonMaxSuppression.
Status check_parts(const OnnxSession& session, const ModelFacts& facts, unsigned batch);

/// Returns check_parts() of a session on the CPU, which is opened only if an output may be such:
/// a table whose number of rows is not fixed. @param spec of the model, on any provider.
Status check_tables(SessionSpec spec, const ModelClaims& claims, const ModelFacts& facts);

/// Returns open_batch() of a model if compare_batches() accepts it. Loads the model twice on the
/// CPU. @param spec of the model, on any provider.
Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts);

}  // namespace keepbox
