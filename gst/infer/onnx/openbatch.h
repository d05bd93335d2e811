// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes models that were exported for one picture run on batches.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/onnx.h"
#include "gst/infer/sessionspec.h"

namespace keepbox {

/// Returns a copy of an ONNX model whose first dimension of 1 is open in all inputs and outputs,
/// and in constant shapes of Reshape. kUnsupported if the file has no such inputs. The result must
/// be compared with the model before use.
Result<std::string> open_batch(const std::string& file);

/// Returns check_parts() of a session on the CPU, which is opened only if an output may be such:
/// a table whose number of rows is not fixed. @param spec of the model, on any provider.
Status check_tables(SessionSpec spec, const ModelDeclaration& declaration, const ModelFacts& facts);

}  // namespace keepbox
