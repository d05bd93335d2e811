// SPDX-License-Identifier: LGPL-2.1-or-later
// Models recognised as exports of the families of the table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gst/infer/facts/metadata.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/facts/modelports.h"

namespace keepbox {

/// The input of most models, assumed if nothing else is known.
inline constexpr InputRule kAssumedInput{.deviation = {255, 255, 255}};

/// The input that an export requires, and what its outputs are.
struct KnownExport {
  std::string why;  // how it was recognised; empty: it was not
  InputRule input = kAssumedInput;
  bool open_range = false;  // nothing that identifies it defines the range of the input's values
  std::string_view detector, contract;
  float iou_threshold = 0;
  Units units = Units::kAuto;
  std::vector<ModelFacts::Output> outputs;  // in the model's order; ids may be empty
  std::vector<std::string> remarks;
  std::vector<std::string> warnings;  // shown to the user
};

/// Recognises an export by its inputs, its metadata, or ids given to its outputs. @param given ids
/// by output, empty if there is none.
KnownExport recognize_export(const ModelDeclaration& declaration, const ModelMetadata& metadata,
                             const ModelInputs& inputs, const std::vector<std::string>& given);

/// True if the id is in the table of detectors, or in GStreamer's registry together with its units.
bool identifies_family(const std::string& id);

}  // namespace keepbox
