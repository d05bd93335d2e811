// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of a decoder: one table of names, values and sentences, from which the properties of
// elements and the options of the library are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/model/words.h"
#include "core/plan/plan.h"

namespace keepbox {

enum MultiLabel { kMultiLabelAuto, kMultiLabelTrue, kMultiLabelFalse };

/// Added to a TileMerge by values of tile-merge= for which boxes become their union.
inline constexpr int kUnionOf = 16;

/// Option values as set. Plain data.
struct DecodeOptions {
  std::string detector = Settings{}.detector;
  std::optional<float> score_threshold, iou_threshold;
  std::string label_file;
  std::string include_classes;
  std::string class_thresholds;
  uint32_t max_detections = Settings{}.max_detections;
  std::string min_size, max_size;
  std::string regions;
  int mask_size = static_cast<int>(Settings{}.mask_size);
  bool class_agnostic = false;
  int multi_label = kMultiLabelAuto;
  int nms_contract = 0;             // 0: auto, otherwise 1 + index into contracts()
  int nms_method = 0;               // NmsMethod
  float track_score_threshold = 0;  // 0: none
  int tile_merge = static_cast<int>(TileRules{}.merge);
  float tile_threshold = TileRules{}.threshold;
  float tile_border = TileRules{}.border;
  int resize_mode = 0;  // ResizeMode
  std::string model_size;
  uint32_t num_classes = 0;
  std::string tensor_ids;
  std::string quantization;
  int backend = 0;  // 0: auto, otherwise 1 + index into backends()
  uint32_t threads = 1;
  int device_id = -1;

  bool operator==(const DecodeOptions&) const = default;
};

struct Option {
  const char* name;
  const char* summary;  // for manuals
  std::variant<std::string DecodeOptions::*, float DecodeOptions::*,
               std::optional<float> DecodeOptions::*, uint32_t DecodeOptions::*,
               bool DecodeOptions::*, int DecodeOptions::*>
      member;
  std::vector<EnumValue> (*words)() = nullptr;  // of an int; without: a number from -1
  double lowest = 0, highest = 1;               // of other numbers
  bool controllable = false;
  bool live = false;  // needs no new plan: retune() applies it
  double unset = 0;   // value that stands for an optional number without one
};

/// Returns the options, common ones first.
std::span<const Option> decode_options();

/// Sets the option of that name. Errors are kInvalid, and name the nearest option, or the values
/// that are accepted.
Status set_option(DecodeOptions& options, std::string_view name, std::string_view text);

/// A NAME=VALUE of a text.
struct OptionText {
  std::string_view name;
  std::string value;
};

/// Splits "NAME=VALUE NAME="VALUE WITH BLANKS"". Errors are kInvalid.
Result<std::vector<OptionText>> option_texts(std::string_view text);

/// Returns a text with a paragraph per option.
std::string describe_options();

/// Splits "a, b" into its words.
std::vector<std::string> ids_of(std::string_view text);

// Words of options.

std::vector<EnumValue> contract_words();
std::vector<EnumValue> method_words();
std::vector<EnumValue> backend_words();
std::vector<EnumValue> multi_labels();
std::vector<EnumValue> mask_sizes();
std::vector<EnumValue> tile_merges();
std::vector<EnumValue> resize_modes();

}  // namespace keepbox
