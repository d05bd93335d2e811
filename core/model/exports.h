// SPDX-License-Identifier: LGPL-2.1-or-later
// Model files as known projects export them: how they are recognised, their input and outputs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/input_rule.h"
#include "core/model/tensor_rule.h"

namespace keepbox {

/// Project whose exporter writes metadata into model files.
enum class Exporter : uint8_t {
  kUnknown,
  kUltralytics,  // names, stride, task and more
  kYolov5,       // only names and stride: repositories of YOLOv5, YOLOv9 and derivatives
  kLibreYolo,    // names, task, the model's family and more
};

/// Properties of all exports of a project.
struct ExporterTraits {
  std::string_view why;       // how an export was recognised, for messages
  std::string_view contract;  // NMS contract of the project's own predictions; empty: unknown
  float iou_threshold = 0;    // of these predictions; 0: unknown
};

constexpr ExporterTraits traits_of(Exporter exporter) {
  switch (exporter) {
    case Exporter::kUltralytics: return {"Ultralytics metadata", "ultralytics", 0.7f};
    case Exporter::kYolov5: return {"YOLOv5 metadata", {}, 0};
    case Exporter::kLibreYolo: return {"LibreYOLO metadata", {}, 0};
    default: return {};
  }
}

/// Arrangement of boxes, scores and payload in an output of three dimensions.
enum class OutputForm : uint8_t { kPlanes, kRows, kEndToEnd };

/// An output that is recognised by its name, or by all other properties that are set.
struct ExportOutput {
  Role role = Role::kAll;  // of the family's tensor, whose first id the output gets
  std::string_view name{};
  uint8_t rank = 0;  // dimensions; 1: or none
  uint16_t columns = 0;
  bool integer = false;
};

/// An export of a family. It is recognised by an input, or by metadata and one output's form. Its
/// coordinates are in pixels unless those of the family are in 0..1.
struct Export {
  Exporter exporter = Exporter::kUnknown;  // of the metadata
  std::string_view task{};                 // of the metadata
  // The metadata has this class as the network's head (LibreYOLO: this family), or one of these
  // words, in lower case, in the description. Empty: neither matters, unless another export of the
  // task has them.
  std::string_view head{};
  std::array<std::string_view, 2> words{};
  OutputForm form = OutputForm::kPlanes;
  bool names_family = true;    // false: models of related families have such outputs too
  std::string_view maps_id{};  // id of the output with feature maps

  std::string_view size_input{};  // instead of metadata: an input that only this export has
  std::string_view why{};         // how it was recognised, for messages; empty: by its exporter
  std::array<ExportOutput, 3>
      outputs{};  // the more specific first; the first output_count are used
  uint8_t output_count = 0;
  std::string_view missing{};  // remark if the outputs are others
  InputRule input{};           // overrides the family's input if set
};

}  // namespace keepbox
