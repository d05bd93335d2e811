// SPDX-License-Identifier: LGPL-2.1-or-later
// Execution providers of ONNX Runtime: where a session's operators run.
#pragma once

#include "gst/infer/onnx/onnxsession.h"

namespace keepbox {

/// Adds the spec's provider to the options of a session. Errors name the provider and the ones that
/// there are, or the option that it rejects.
/// @param stream the cudaStream_t for provider cuda, or nullptr.
Status append_provider(const OnnxRuntime& runtime, const SessionSpec& spec,
                       OrtSessionOptions* options, void* stream);

}  // namespace keepbox
