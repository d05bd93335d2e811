// SPDX-License-Identifier: LGPL-2.1-or-later
// Declarations in a model's files, and the input and outputs that follow from them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/detector.h"
#include "core/plan/input.h"
#include "gst/infer/facts/modelinfo.h"

namespace keepbox {

/// An input or output as the runtime reports it; -1 for dimensions that are dynamic.
struct ModelPort {
  std::string name;
  std::optional<DataType> type;  // std::nullopt for types that are not numeric
  std::vector<int64_t> dims;

  /// "images -1x3x640x640 float32"
  std::string to_string() const;
};

/// Known data of a model before it runs.
struct ModelDeclaration {
  std::string file;
  std::vector<ModelPort> inputs, outputs;  // per picture, if the batch is fixed
  int64_t batch = 1;                       // fixed number of pictures per run; -1 if dynamic
  std::vector<ModelPort> left_out;         // outputs that are not numeric with up to 8 dimensions
  std::map<std::string, std::string> metadata;  // custom metadata of the ONNX file
  size_t metadata_left_out = 0;                 // number of ignored keys, if a file has too many
  std::optional<ModelInfo> info;                // from the .modelinfo next to it
};

enum class ChannelOrder { kAuto, kRgb, kBgr };

/// Overrides from properties; each has a value for "as the model declares".
struct InputSettings {
  Size size;  // 0: as the model declares
  ChannelOrder order = ChannelOrder::kAuto;
  std::optional<ResizeMode> resize;
  bool rectangle = false;  // with the padding cut down to whole strides
  bool objects = false;    // pictures are of objects, which models of unknown origin stretch
  std::optional<std::array<float, 3>> mean, deviation;  // for R, G, B in 0..255
  std::optional<uint8_t> pad;
};

/// An input in addition to the picture, which exports of some families require.
struct SizeInput {
  enum class Kind {
    kWidthHeight,  // of the model's input            orig_target_sizes of D-FINE, RT-DETR
    kHeightWidth,  // of the model's input            im_shape of Paddle
    kScale,        // 1, 1, for boxes in pixels of the input      scale_factor of Paddle
    kPixelMask,    // 1 per pixel of a picture without padding     pixel_mask of DETR
  };
  size_t index;  // among the inputs
  Kind kind;
};

/// Settled facts about a model with certain properties.
struct ModelFacts {
  size_t image_input = 0;  // among the inputs
  InputForm input;
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  uint32_t rectangle_stride = 0;  // of an input whose size follows the frame's; 0: fixed
  std::vector<SizeInput> size_inputs;

  struct Output {
    std::string id;             // as in GStreamer's registry, if known
    bool column_major = false;  // the order that upstream declares for planes
  };
  std::vector<Output> outputs;  // in the model's order

  std::string name;         // of the model, for messages
  std::string detector;     // a family of the table; empty: to be recognised
  std::string contract;     // the framework to reproduce, as nms-contract
  float iou_threshold = 0;  // default of that framework; 0 if none
  Units units = Units::kAuto;
  std::vector<std::string> labels;
  std::map<std::string, std::vector<std::string>> labels_of;  // by the id of one of several outputs
  std::string remark;                 // origin of the facts, and assumptions
  bool unknown = false;               // no file identifies the model; a trial run may
  std::string assumed;                // assumptions on the input, for a warning; empty if none
  bool lacks_info = false;            // they are made because the model has no .modelinfo
  std::vector<std::string> warnings;  // about declared data that boxes do not get
};

/// A family that was found for a model by other means than its files.
struct FamilyOfModel {
  std::string name;
  InputRule input;
  std::string caveat;  // of that input
  std::string why;     // how it was recognised
  bool set = false;    // by the user; overrides the model's files
  bool sure = true;    // false: its input is a guess
};

/// Settles a model: properties override the .modelinfo, which overrides the file's metadata, which
/// overrides shapes and names. Errors: kUnsupported for models whose inputs cannot be filled,
/// kMismatch for a .modelinfo of another model, kInvalid for settings and values. Unreadable
/// metadata is ignored with a remark. @param family overrides the input if the user set it, or if
/// no file identifies the model; nullptr: there is none.
Result<ModelFacts> settle_model(const ModelDeclaration& declaration, const InputSettings& settings,
                                const FamilyOfModel* family = nullptr);

/// Describes what is assumed about a model's input, for a warning. @param file its name
/// @pre `assumed` is not empty.
Error assumption(const ModelFacts& facts, const std::string& file);

}  // namespace keepbox
