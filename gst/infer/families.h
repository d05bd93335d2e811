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

/// The input of most models, assumed where nothing is known.
inline constexpr InputRule kAssumedInput{.deviation = {255, 255, 255}};

/// What an export wants to see and what it gives.
struct KnownExport {
  std::string why;  // by what it is known; empty: it is not
  InputRule input = kAssumedInput;
  std::string_view detector, contract;
  float iou_threshold = 0;
  Units units = Units::kAuto;
  std::vector<ModelFacts::Output> outputs;  // in the model's order; ids may be empty
  std::vector<std::string> remarks;
  std::vector<std::string> warnings;  // what users have to know
};

/// Recognises an export by its inputs, its metadata, or ids that others gave its outputs.
/// @param given ids by output, empty where there is none.
KnownExport know_export(const ModelClaims& claims, const ModelMetadata& metadata,
                        const ModelInputs& inputs, const std::vector<std::string>& given);

/// Is it an id of the table of detectors, or one of GStreamer's registry with its units?
bool tells_family(std::string_view id);

}  // namespace keepbox
