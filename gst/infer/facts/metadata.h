// SPDX-License-Identifier: LGPL-2.1-or-later
// Custom metadata of exported models.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/formula/letterbox.h"
#include "core/model/detector.h"

namespace keepbox {

struct ModelMetadata {
  Exporter exporter = Exporter::kUnknown;
  std::string task;  // such as "detect"; empty if unknown
  std::string description;
  std::string head;                 // class of the network's last layer, or LibreYOLO's family;
                                    // empty if unknown
  std::vector<std::string> labels;  // by class, empty where a class has no name
  std::map<std::string, std::vector<std::string>> labels_of;  // of outputs, by their names
  Size size;                         // input size of the export; 0 if unknown
  std::optional<ResizeMode> resize;  // placement of the picture in the input, if declared
  uint32_t stride = 0;               // 0 if unknown
  uint32_t keypoint_numbers = 0;     // per object; 0 if unknown
  bool sorted = false;               // outputs rows of final boxes (end-to-end)
  std::vector<std::string> remarks;  // what was left out, and why
};

/// Reads known keys; malformed values are skipped with a remark.
ModelMetadata read_metadata(const std::map<std::string, std::string>& metadata);

}  // namespace keepbox
