// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings of a model, and of the provider that runs it, from properties.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/plan/tiles.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/objects.h"
#include "gst/infer/onnx/session.h"
#include "gst/infer/properties.h"

namespace keepbox {

// Translates the properties of tensorinfer to settings of the model.

/// Reads `provider-options`. Errors name the part that is not KEY=VALUE.
Result<std::map<std::string, std::string>> provider_options(const InferProps& props);

/// Translates the properties of objects; nothing if the model runs on frames. kInvalid with the
/// property's name, kNotFound for a template that cannot be read.
Result<std::optional<ObjectRules>> object_rules(const InferProps& props);

/// Reads `tiles`. kInvalid with the property's name.
Result<TileGrid> tile_grid(const InferProps& props);

/// Translates the properties of the input. Errors name the property.
Result<InputSettings> input_settings(const InferProps& props);

// The provider that a model runs on, and the parameters of its session.

inline constexpr const char* kCudaProvider = "cuda";

struct ProviderChoice {
  std::string name;    // "cpu", "cuda", or another
  std::string reason;  // "as set", or what an automatic choice found

  /// True if frames, input and tensors are in GPU memory.
  bool cuda() const;
};

/// True if `provider` leaves the choice to choose_provider().
bool is_automatic(const InferProps& props);

/// Returns the provider that is set or, for "auto", the GPU if the library and a device support it.
Result<ProviderChoice> choose_provider(const InferProps& props);

/// Checks that the library has a provider for GPUs.
Status check_cuda();

/// Returns the parameters of a session on a provider. Options are ignored if the choice of the CPU
/// was automatic, because they are for a GPU. Errors name the property.
/// @param size of an input whose size follows the frames'; empty: as the properties define.
Result<SessionSpec> session_spec(const InferProps& props, const ProviderChoice& provider,
                                 Size size = {});

/// Returns the parameters of a session for a trial run, on the CPU.
SessionSpec trial_spec(const InferProps& props);

}  // namespace keepbox
