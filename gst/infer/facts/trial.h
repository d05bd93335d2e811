// SPDX-License-Identifier: LGPL-2.1-or-later
// A trial run of a model whose files do not identify it: its tensors are recognised by names,
// shapes and values, like those of frames.
#pragma once

#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/sessionspec.h"

namespace keepbox {

/// Runs the model once on a generated picture, on the CPU. @return the family, and whether it is
/// certain; an error if the model does not run, or if its tensors fit no family or several.
Result<FamilyOfModel> try_model(SessionSpec spec, const ModelDeclaration& declaration,
                                const ModelFacts& facts);

}  // namespace keepbox
