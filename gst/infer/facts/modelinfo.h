// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's .modelinfo: a key file next to a model that describes its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"

namespace keepbox {

/// A tensor of a .modelinfo.
struct ModelInfoTensor {
  std::string name;  // in the model
  std::string id;    // for decoders; empty if none
  std::optional<DataType> type;
  std::vector<int64_t> dims;  // -1 dynamic; empty if unknown
  std::optional<bool> input;  // or an output; std::nullopt if unknown
  bool column_major = false;
  /// The values that 0 and 255 are mapped to, one pair per channel or one for all; empty if
  /// unknown.
  std::vector<std::array<double, 2>> ranges;
};

struct ModelInfo {
  std::string path;
  std::string group_id;
  std::vector<ModelInfoTensor> tensors;

  /// Returns the entry of an input or output of the model, or nullptr.
  const ModelInfoTensor* find(const std::string& name, bool input) const;
};

/// Loads the .modelinfo of a model: MODEL.modelinfo, or else the model's name with its extension
/// replaced. std::nullopt if neither exists; errors name file, group and key.
Result<std::optional<ModelInfo>> find_model_info(const std::string& model_file);

}  // namespace keepbox
