// SPDX-License-Identifier: LGPL-2.1-or-later
// Translates the properties of tensorinfer to settings of the model.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/plan/tiles.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/objects/objects.h"
#include "gst/infer/settings/inferprops.h"

namespace keepbox {

/// Reads `provider-options`. Errors name the part that is not KEY=VALUE.
Result<std::map<std::string, std::string>> provider_options(const InferProps& props);

/// Translates the properties of objects; nothing if the model runs on frames. kInvalid with the
/// property's name, kNotFound for a template that cannot be read.
Result<std::optional<ObjectRules>> object_rules(const InferProps& props);

/// Translates the properties of tiles. kInvalid with the property's name.
Result<TileGrid> tile_grid(const InferProps& props);

/// Translates the properties of the input. Errors name the property.
Result<InputSettings> input_settings(const InferProps& props);

}  // namespace keepbox
