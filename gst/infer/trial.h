// SPDX-License-Identifier: LGPL-2.1-or-later
// A trial run of a model of which no file says what it is: its tensors' names, shapes and numbers are
// recognised as those of frames are.
#pragma once

#include "gst/infer/modelfacts.h"
#include "gst/infer/onnxsession.h"

namespace keepbox {

/// Runs the model once on a drawn picture, on the CPU. @return the family, and whether it is sure;
/// an error where the model does not run there or its tensors fit no family, or several.
Result<FamilyOfModel> try_model(SessionSpec spec, const ModelClaims& claims,
                                const ModelFacts& facts);

}  // namespace keepbox
