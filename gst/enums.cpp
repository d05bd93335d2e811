// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers the GEnum types.
#include "gst/enums.h"

#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/detector.h"
#include "gst/boxwriter.h"

namespace keepbox {
namespace {

struct Value {
  int value;
  std::string_view nick;
  std::string_view summary;
};

/// GObject keeps pointers to the table and its strings: both live as long as the process.
GType register_enum(const char* name, const std::vector<Value>& values) {
  auto* table = g_new0(GEnumValue, values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string nick(values[i].nick), summary(values[i].summary);
    table[i] = {values[i].value, g_intern_string(summary.c_str()), g_intern_string(nick.c_str())};
  }
  return g_enum_register_static(name, table);
}

template <class Row>
std::vector<Value> rows(std::span<const Row> table, std::string_view Row::*summary,
                        const char* automatic) {
  std::vector<Value> values;
  if (automatic != nullptr) values.push_back({0, "auto", automatic});
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

}  // namespace

GType detector_type() {
  static const GType type = register_enum(
      "KeepboxDetector",
      rows(detectors(), &DetectorSpec::summary,
           "Recognised from the tensors' ids, or from their shapes where those are unambiguous"));
  return type;
}

GType contract_type() {
  static const GType type =
      register_enum("KeepboxNmsContract", rows(contracts(), &NmsContract::summary, nullptr));
  return type;
}

GType backend_type() {
  static const GType type = register_enum(
      "KeepboxBackend",
      rows(backends(), &Backend::summary, "The fastest that can read the tensors where they are"));
  return type;
}

GType nms_method_type() {
  static const GType type = register_enum(
      "KeepboxNmsMethod",
      {{static_cast<int>(NmsMethod::kAuto), "auto",
        "Greedy, or none for end-to-end models that did it themselves"},
       {static_cast<int>(NmsMethod::kGreedy), "greedy",
        "Exact greedy suppression by a better box that was kept"},
       {static_cast<int>(NmsMethod::kNone), "none", "Every box above the threshold is kept"},
       {static_cast<int>(NmsMethod::kBitmask), "bitmask",
        "The boxes of greedy, by words of an IoU mask as in Faster R-CNN's code"},
       {static_cast<int>(NmsMethod::kSegmented), "segmented",
        "The boxes of greedy, by sorting by class and resolving a mask for each class"},
       {static_cast<int>(NmsMethod::kFast), "fast",
        "One pass as in YOLACT: loses boxes that greedy keeps, for suppressed boxes suppress "
        "too"}});
  return type;
}

GType resize_mode_type() {
  static const GType type = register_enum(
      "KeepboxResizeMode",
      {{static_cast<int>(ResizeMode::kStretch), "stretch", "Each axis scaled on its own"},
       {static_cast<int>(ResizeMode::kLetterboxCenter), "letterbox-center",
        "Aspect ratio kept, padded on both sides"},
       {static_cast<int>(ResizeMode::kLetterboxTopLeft), "letterbox-topleft",
        "Aspect ratio kept, padded at the right or at the bottom"},
       {static_cast<int>(ResizeMode::kLetterboxScaler), "letterbox-scaler",
        "As letterbox-center, with the picture rounded down to whole pixels of the model's input "
        "as videoconvertscale does, which moves edges by less than one of them"}});
  return type;
}

GType units_type() {
  static const GType type = register_enum(
      "KeepboxBoxUnits",
      {{static_cast<int>(Units::kAuto), "auto", "Seen from the first frame's numbers"},
       {static_cast<int>(Units::kPixels), "pixels", "Pixels of the model's input"},
       {static_cast<int>(Units::kNormalized), "normalized",
        "Fractions of the model's input, 0 to 1"}});
  return type;
}

GType on_mismatch_type() {
  static const GType type = register_enum(
      "KeepboxOnMismatch",
      {{static_cast<int>(OnMismatch::kError), "error", "An element error stops the stream"},
       {static_cast<int>(OnMismatch::kWarn), "warn",
        "An element warning, once for each cause; the frame goes on without boxes"},
       {static_cast<int>(OnMismatch::kPass), "pass", "The frame goes on without boxes"}});
  return type;
}

GType box_format_type() {
  static const GType type = register_enum(
      "KeepboxBoxFormat",
      {{static_cast<int>(BoxFormat::kJsonl), "jsonl",
        "A JSON object a frame and line, as DL Streamer's gvametaconvert writes it"},
       {static_cast<int>(BoxFormat::kCoco), "coco",
        "An array of COCO results, as pycocotools loads it"},
       {static_cast<int>(BoxFormat::kMot), "mot",
        "Lines of MOTChallenge; frames count from 1, the pixels of boxes from 0"},
       {static_cast<int>(BoxFormat::kKitti), "kitti",
        "Lines of KITTI object results, a file a frame"},
       {static_cast<int>(BoxFormat::kCsv), "csv", "A header and a line a box"}});
  return type;
}

GType memory_type() {
  static const GType type = register_enum(
      "KeepboxReplayMemory",
      {{static_cast<int>(ReplayMemory::kSystem), "system", "System memory"},
       {static_cast<int>(ReplayMemory::kCuda), "cuda",
        "CUDA memory (GstCudaMemory), copied there on a stream of its own"}});
  return type;
}

std::string nick_of(GType type, int value) {
  auto* enums = static_cast<GEnumClass*>(g_type_class_ref(type));
  const GEnumValue* found = g_enum_get_value(enums, value);
  std::string nick = found != nullptr ? found->value_nick : "";
  g_type_class_unref(enums);
  return nick;
}

}  // namespace keepbox
