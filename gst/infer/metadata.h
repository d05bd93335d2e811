// SPDX-License-Identifier: LGPL-2.1-or-later
// What the custom metadata of exported models says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/letterbox.h"

namespace keepbox {

struct ModelMetadata {
  enum class Writer : uint8_t {
    kUnknown,
    kUltralytics,  // names, stride, task and more
    kYolov5,       // names and stride alone: the repositories of YOLOv5, YOLOv9 and their kin
  };
  Writer writer = Writer::kUnknown;
  std::string task;         // "detect"; empty: nobody says
  std::string description;
  std::string head;         // the class of the network's last layer; empty: not written
  std::vector<std::string> labels;  // by class, empty where a class has no name
  Size size;                // of the input that it was exported with; 0: nobody says
  uint32_t stride = 0;      // 0: nobody says
  uint32_t keypoint_numbers = 0;  // of one object; 0: nobody says
  bool sorted = false;      // rows of boxes come out, after suppression or without need of it
  std::vector<std::string> remarks;  // what was left out, and why
};

/// Takes what it understands; what is broken is left out with a remark.
ModelMetadata read_metadata(const std::map<std::string, std::string>& metadata);

}  // namespace keepbox
