// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens a model on its device, and settles its input.
#include "gst/infer/loadedmodel.h"

#include <utility>

#include "gst/infer/settings/infersettings.h"

namespace keepbox {

Result<LoadedModel> load_model(const LoadOrder& order) {
  KB_ASSIGN(auto info, find_model_info(order.props.model_file));
  KB_ASSIGN(auto inferencer, order.context ? make_cuda_inferencer(order.spec, order.context)
                                           : make_host_inferencer(order.spec));
  LoadedModel out{.inferencer = std::move(inferencer), .declaration = {}};
  out.declaration = out.inferencer->declaration();
  out.declaration.info = std::move(info);
  if (order.facts) {
    KB_TRY(out.inferencer->set_model(*order.facts));
  } else {
    KB_ASSIGN(const ModelFacts facts, settle_by(order.props, out.declaration));
    KB_TRY(out.inferencer->set_model(facts));
  }
  return out;
}

Result<ModelFacts> settle_by(const InferProps& props, const ModelDeclaration& declaration,
                             const FamilyOfModel* family) {
  KB_ASSIGN(const InputSettings settings, input_settings(props));
  auto facts = settle_model(declaration, settings, family);
  if (!facts) facts.error().add("for " + props.model_file);
  return facts;
}

}  // namespace keepbox
