// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts that describe families, with their classes and payloads.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/recognition/layout.h"

namespace keepbox {

/// Returns "yolov8-seg (1 class, 32 mask coefficients)".
std::string family_text(const Layout& layout);

/// Returns the inputs of the families, for the end of a hint to set detector= to one of them:
/// "; tensorinfer then uses the input of that family, ..."; empty if none is known.
std::string input_hint(std::span<const Layout> layouts);

/// Returns "17 keypoints", or "keypoints" if the number is 0.
std::string payload_text(const DetectorSpec& spec, size_t values);

/// Returns "1 class", "2 classes".
std::string counted(size_t number, std::string_view what);

}  // namespace keepbox
