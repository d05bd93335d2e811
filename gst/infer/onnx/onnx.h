// SPDX-License-Identifier: LGPL-2.1-or-later
// ONNX models and their runtime, for code that knows neither: the only header of this folder for
// sources outside of it that run models in system memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/modelsession.h"
#include "gst/infer/sessionspec.h"

namespace keepbox {

/// Loads ONNX Runtime on first use. @param library see OnnxRuntime::load().
Result<const ModelRuntime*> load_onnx_runtime(const std::string& library);

/// Opens a session for tensors in system memory. @param model bytes to load in place of the file's;
/// nullptr: none. Errors name the file.
Result<std::unique_ptr<ModelSession>> open_onnx_session(const SessionSpec& spec,
                                                        const std::string* model = nullptr);

/// Checks that there is a regular file. Errors name it.
Status check_model_file(const std::string& file);

/// Returns the stamps of a model and its weight files; fewer if they cannot be read, which is then
/// reported by the code that opens them.
std::vector<FileStamp> file_stamps(const std::string& model);

/// Returns a copy of an ONNX model that was exported for one picture and runs batches, if its
/// results in a batch are the same. kUnsupported if not. Loads the model twice on the CPU.
/// @param spec of the model, on any provider.
Result<std::string> opened_model(SessionSpec spec, const ModelFacts& facts);

}  // namespace keepbox
