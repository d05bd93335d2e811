// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads a model without its element, so that another thread can do it.
#pragma once

#include <memory>
#include <optional>

#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/settings/inferprops.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// A model that is ready for frames.
struct LoadedModel {
  std::unique_ptr<Inferencer> inferencer;
  ModelDeclaration declaration;
};

/// All that a load needs.
struct LoadOrder {
  InferProps props;
  SessionSpec spec;
  CudaContext context;              // of the device; none for the host
  std::optional<ModelFacts> facts;  // if they are settled; else by the properties and the model
};

/// Loads a model and prepares its runs, which takes seconds. Errors name the file or the property.
Result<LoadedModel> load_model(const LoadOrder& order);

/// Settles a model by the properties. @param family see settle_model().
Result<ModelFacts> settle_by(const InferProps& props, const ModelDeclaration& declaration,
                             const FamilyOfModel* family = nullptr);

}  // namespace keepbox
