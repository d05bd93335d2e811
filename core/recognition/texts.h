// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts about families for messages and hints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/recognition/layout.h"

namespace keepbox {

// Texts that describe families, with their classes and payloads.

/// Returns "yolov8-seg (1 class, 32 mask coefficients)".
std::string family_text(const Layout& layout);

/// Returns the inputs of the families, for the end of a hint to set detector= to one of them:
/// "; tensorinfer then uses the input of that family, ..."; empty if none is known.
std::string input_hint(std::span<const Layout> layouts);

/// Returns "17 keypoints", or "keypoints" if the number is 0.
std::string payload_text(const DetectorSpec& spec, size_t values);

/// Returns "1 class", "2 classes".
std::string counted(size_t number, std::string_view what);

// Families that may be meant instead of one that was recognised or set.

/// Lists the names of the other families that fit the tensors and their values, and whose anchors
/// are those of the input if the input is known; empty if there are none.
/// @param input 0 x 0 if unknown.
std::string other_families(const Layout& than, std::span<const TensorView> tensors,
                           const Request& request, Size input);

}  // namespace keepbox
