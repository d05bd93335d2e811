// SPDX-License-Identifier: LGPL-2.1-or-later
// What a model file says of itself, and what follows: how its input is made, what its outputs are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/detector.h"
#include "core/input.h"
#include "core/result.h"
#include "gst/infer/modelinfo.h"

namespace keepbox {

/// An input or output as the runtime reports it; -1 for dimensions that are dynamic.
struct ModelPort {
  std::string name;
  std::optional<DataType> type;  // nothing for types that are no numbers
  std::vector<int64_t> dims;

  /// "images -1x3x640x640 float32"
  std::string to_string() const;
};

/// All that is known of a model before it runs.
struct ModelClaims {
  std::string file;
  std::vector<ModelPort> inputs, outputs;
  std::vector<ModelPort> left_out;  // outputs that are no numbers in up to 8 dimensions
  std::map<std::string, std::string> metadata;  // custom metadata of the ONNX file
  size_t metadata_left_out = 0;  // keys of a file that has more than anybody would write
  std::optional<ModelInfo> info;                // the .modelinfo beside it
};

enum class ChannelOrder { kAuto, kRgb, kBgr };

/// What properties overrule. Each has a value for "as the model says".
struct InputSettings {
  Size size;                                     // 0: as the model says
  ChannelOrder order = ChannelOrder::kAuto;
  std::optional<ResizeMode> resize;
  std::optional<std::array<float, 3>> mean, deviation;  // of R, G, B, in 0..255
  std::optional<uint8_t> pad;
};

/// An input beside the picture that exports of some families want.
struct SizeInput {
  enum class Kind {
    kWidthHeight,  // of the model's input            orig_target_sizes of D-FINE, RT-DETR
    kHeightWidth,  // of the model's input            im_shape of Paddle
    kScale,        // 1, 1: boxes are wanted in pixels of the input      scale_factor of Paddle
    kPixelMask,    // 1 for each pixel of the picture, none of which is padding   pixel_mask of DETR
  };
  size_t index;  // among the inputs
  Kind kind;
};

/// Settled for a model and some properties.
struct ModelFacts {
  size_t image_input = 0;  // among the inputs
  InputForm input;
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  std::vector<SizeInput> size_inputs;

  struct Output {
    std::string id;              // as GStreamer's registry has it, where that is known
    bool column_major = false;   // what upstream tags planes with
  };
  std::vector<Output> outputs;  // in the model's order

  std::string name;             // of the model, for people
  std::string detector;         // a family of the table, or empty: to be recognised
  std::string contract;         // the framework whose boxes are expected, as nms-contract
  float iou_threshold = 0;      // that framework's default; 0: none
  Units units = Units::kAuto;
  std::vector<std::string> labels;
  std::string remark;           // what was taken from where, and what was assumed
  bool unknown = false;         // no file says what the model is: a trial run may
  std::string assumed;          // of the input, for a warning; empty: nothing that was not known
  std::vector<std::string> warnings;  // of what the files say and boxes will lack
};

/// A family that somebody else found for a model.
struct FamilyOfModel {
  std::string name;
  InputRule input;
  std::string caveat;  // of that
  std::string why;     // by what it is known
  bool set = false;    // by the user, before what the model's files say
  bool sure = true;    // else its input is a guess
};

/// Settles it: properties before the .modelinfo, that before the file's metadata, that before what
/// shapes and names tell. Errors say what was expected, what was found and what to set:
/// kUnsupported for models that cannot be fed, kMismatch for a .modelinfo of another model,
/// kInvalid for settings and values. Metadata that cannot be read is left out with a remark.
/// @param family counts for the input if the user set it, or if no file says what the model is;
/// nullptr: there is none.
Result<ModelFacts> settle_model(const ModelClaims& claims, const InputSettings& settings,
                                const FamilyOfModel* family = nullptr);

}  // namespace keepbox
