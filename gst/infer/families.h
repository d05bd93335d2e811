// SPDX-License-Identifier: LGPL-2.1-or-later
// What is known of models as their own projects export them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gst/infer/metadata.h"
#include "gst/infer/modelfacts.h"
#include "gst/infer/modelinput.h"

namespace keepbox {

/// What an export wants to see and what it gives. As it stands: what most exports want.
struct KnownExport {
  std::string why;  // by what it is known; empty: it is not
  bool bgr = false;
  bool bytes = false;  // pixels go in as 0..255 instead of 0..1
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  uint8_t pad = 114;
  std::string_view detector;
  Units units = Units::kAuto;
  std::vector<ModelFacts::Output> outputs;  // in the model's order; ids may be empty
  std::vector<std::string> remarks;
};

/// Recognises one, by its inputs, its metadata, ids that others gave its outputs, or its shapes.
/// @param given ids by output, empty where nobody says one.
KnownExport know_export(const ModelClaims& claims, const ModelMetadata& metadata,
                        const ModelInputs& inputs, Size size,
                        const std::vector<std::string>& given);

/// Is it an id of the table of detectors, or one of GStreamer's registry with its units?
bool tells_family(std::string_view id);

}  // namespace keepbox
