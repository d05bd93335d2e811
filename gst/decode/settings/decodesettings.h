// SPDX-License-Identifier: LGPL-2.1-or-later
// Translates the properties of boxdecode to core settings.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "gst/decode/settings/decodeprops.h"
#include "gst/tensors/labels.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Returns core settings, without priors, for frames of that size. Properties that are set override
/// the tensors' source, and the source overrides guesses. Errors name the property.
/// @param source may be nullptr.
Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorProvenance* source);

/// Replaces invalid lists of classes, sizes and regions by the values of `old`.
/// @return one error per invalid list; its hint names the value that is kept.
std::vector<Error> revert_invalid_lists(DecodeProps& props, const DecodeProps& old,
                                        const Labels& labels);

/// Replaces a changed family, file or quantization by that of `old` if `check` refuses it alone.
/// @return one error for each; its hint names the value that is kept.
std::vector<Error> revert_invalid_names(DecodeProps& props, const DecodeProps& old,
                                        const std::function<Status(const DecodeProps&)>& check);

/// Replaces tensor-ids= by the value before if one of its ids is not that of a listed tensor.
/// @return the error; its hint names the value that is kept.
std::optional<Error> revert_missing_ids(DecodeProps& props, const std::string& before,
                                        std::span<const TensorView> listed);

/// Replaces texts that were asked for by those in force, unless they have changed since.
/// @return the names of the properties that were replaced.
std::vector<const char*> take_texts(DecodeProps& props, const DecodeProps& asked,
                                    const DecodeProps& in_force);

}  // namespace keepbox
