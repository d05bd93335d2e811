// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's .modelinfo: a key file beside a model that describes its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace keepbox {

/// One tensor of a .modelinfo.
struct ModelInfoTensor {
  std::string name;  // in the model
  std::string id;    // for decoders; empty: none
  std::optional<DataType> type;
  std::vector<int64_t> dims;  // -1 dynamic; empty: nobody says
  std::optional<bool> input;  // or an output; empty: nobody says
  bool column_major = false;
  /// What 0 and 255 become, a pair a channel, or one for all; empty: nobody says.
  std::vector<std::array<double, 2>> ranges;
};

struct ModelInfo {
  std::string path;
  std::string group_id;
  std::vector<ModelInfoTensor> tensors;

  /// What is said of an input or output of the model, or nullptr.
  const ModelInfoTensor* find(const std::string& name, bool input) const;
};

/// "1x3x320x320"
std::string dims_text(const std::vector<int64_t>& dims);

/// The .modelinfo of a model: MODEL.modelinfo, else the model's name with its extension replaced.
/// Nothing when neither is there; an error names file, group and key, what was expected and found.
Result<std::optional<ModelInfo>> find_model_info(const std::string& model_file);

}  // namespace keepbox
