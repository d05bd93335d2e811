// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of options, and their values as text.
#include "core/options/options.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <format>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/text.h"
#include "core/base/threads.h"
#include "core/formula/box.h"
#include "core/formula/conventions.h"
#include "core/model/contracts.h"
#include "core/model/detector.h"
#include "core/plan/tiles.h"
#include "core/run/backend.h"

namespace keepbox {
namespace {

template <class Row>
std::vector<EnumValue> rows(std::span<const Row> table, std::string_view Row::* summary,
                            const char* automatic) {
  std::vector<EnumValue> values{{0, "auto", automatic}};
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

}  // namespace

std::vector<EnumValue> contract_words() {
  return rows(contracts(), &NmsContract::summary, "The contract of the family, or else exact");
}

std::vector<EnumValue> backend_words() {
  return rows(backends(), &Backend::summary, "The fastest one that can read the tensors in place");
}

std::vector<EnumValue> method_words() { return enum_values<NmsMethod>(kMethodWords); }

std::vector<EnumValue> resize_modes() { return enum_values<ResizeMode>(kResizeWords); }

std::vector<EnumValue> multi_labels() {
  return {{kMultiLabelAuto, "auto", "As in the family's framework"},
          {kMultiLabelTrue, "true", "One box per class whose score passes"},
          {kMultiLabelFalse, "false", "One box for the best class"}};
}

std::vector<EnumValue> mask_sizes() { return enum_values<MaskSize>(kMaskSizeWords); }

std::vector<EnumValue> tile_merges() {
  return {{static_cast<int>(TileMerge::kIos), "ios",
           "Intersection over the smaller area, which also drops a part of an object if another "
           "tile has the whole"},
          {static_cast<int>(TileMerge::kIou), "iou", "Intersection over union"},
          {kUnionOf + static_cast<int>(TileMerge::kIos), "ios-union",
           "As ios, and the kept box is extended over those that it drops, for objects that are "
           "larger "
           "than the overlap of tiles. Keypoints and masks stay its own. Not for oriented boxes"},
          {kUnionOf + static_cast<int>(TileMerge::kIou), "iou-union",
           "As iou, extended in the same way"},
          {static_cast<int>(TileMerge::kNone), "none", "Keep the boxes of all tiles"}};
}

namespace {

constexpr size_t kIndent = 26;  // of rows in gst-inspect-1.0

/// Returns the sentence with a row per family, laid out as gst-inspect-1.0 prints enums.
const char* detector_summary() {
  static const std::string text = [] {
    std::string all =
        "Family of the model whose tensors are decoded. auto takes the family that the inference "
        "element declares, or else recognises it. Otherwise the path of a detector file (see "
        "keepbox keys), or one of";
    for (const DetectorSpec& spec : detectors())
      all += "\n" + std::string(kIndent, ' ') + std::string(spec.name) + ": " +
             std::string(spec.summary);
    return all;
  }();
  return text.c_str();
}

// Live properties need no new plan: retune() applies them, or they affect the frame's metas alone.
const Option kOptions[] = {
    {.name = "detector", .summary = detector_summary(), .member = &DecodeOptions::detector},
    {.name = "score-threshold",
     .summary = "Score above which a box is a candidate. Scores are probabilities, 0 to 1, even if "
                "the model outputs logits. If unset, the family's own threshold applies, if it has "
                "one.",
     .member = &DecodeOptions::score_threshold,
     .lowest = -FLT_MAX,
     .highest = FLT_MAX,
     .controllable = true,
     .live = true,
     .unset = kScoreThreshold},
    {.name = "iou-threshold",
     .summary = "Intersection over union above which a box is suppressed by a better box of its "
                "class. If unset, the family's own threshold applies, if it has one; exports with "
                "Ultralytics metadata use 0.7, as Ultralytics predict() does.",
     .member = &DecodeOptions::iou_threshold,
     .controllable = true,
     .live = true,
     .unset = kIouThreshold},
    {.name = "label-file",
     .summary = "UTF-8 text file with one class name per line, starting with class 0 (the "
                "background, if that is the family's class 0); classes without a line are named "
                "class-N. Empty takes the file named by the detector file, or else the names that "
                "the inference element declares.",
     .member = &DecodeOptions::label_file},
    {.name = "include-classes",
     .summary = "Comma-separated names or numbers of the classes to keep, such as person,2. A "
                "class with ! before it is dropped: !dog keeps all others. Empty keeps all.",
     .member = &DecodeOptions::include_classes,
     .live = true},
    {.name = "class-thresholds",
     .summary = "Score thresholds per class, such as person:0.5,2:0.3; other classes use "
                "score-threshold.",
     .member = &DecodeOptions::class_thresholds,
     .live = true},
    {.name = "max-detections",
     .summary = "Maximum number of boxes per frame, or per object (tensorinfer regions=objects), "
                "best first over all classes, before min-size, max-size and regions are applied.",
     .member = &DecodeOptions::max_detections,
     .highest = kMaxAnchors},
    {.name = "min-size",
     .summary = "Minimum width and height of a box in frame pixels, such as 16x16 for all classes "
                "or 16x16,person:32x64,2:0x8 for some; 0 means no limit. Size and region filters "
                "are applied last, after suppression and max-detections, to boxes clipped to the "
                "frame; dropped boxes are not replaced.",
     .member = &DecodeOptions::min_size,
     .live = true},
    {.name = "max-size",
     .summary = "Maximum width and height of a box, in the form of min-size; 0 means no limit.",
     .member = &DecodeOptions::max_size,
     .live = true},
    {.name = "regions",
     .summary = "Regions of the frame in which boxes are kept, as x,y,w,h;x,y,w,h in frame pixels, "
                "or in fractions of the frame if all four values are at most 1. A region with ! "
                "before it is one in which boxes are dropped. A box belongs to a region if its "
                "centre is in it; inside: before the first region requires the whole box, touch: "
                "some part of it. At most 16 regions of each kind; empty means the whole frame.",
     .member = &DecodeOptions::regions,
     .live = true},
    {.name = "mask-size",
     .summary = "Resolution of the masks of kept boxes, if the family has mask coefficients and "
                "prototypes.",
     .member = &DecodeOptions::mask_size,
     .words = mask_sizes},
    {.name = "class-agnostic",
     .summary = "Let boxes of different classes suppress each other.",
     .member = &DecodeOptions::class_agnostic},
    {.name = "multi-label",
     .summary = "Whether an anchor with several classes above the score threshold gives one box "
                "per class, or one box for the best class.",
     .member = &DecodeOptions::multi_label,
     .words = multi_labels},
    {.name = "nms-contract",
     .summary = "Framework whose suppression conventions are reproduced (comparisons at the "
                "thresholds, ties, pixel widths, corner order, class separation, candidate limit, "
                "method). auto takes the family's contract, ultralytics for exports with "
                "Ultralytics metadata, or else exact.",
     .member = &DecodeOptions::nms_contract,
     .words = contract_words},
    {.name = "nms-method",
     .summary = "Algorithm that suppresses overlapping boxes; overrides the contract's method. "
                "Those that compare pairs take as many candidates, best first, as they can process "
                "in about a second.",
     .member = &DecodeOptions::nms_method,
     .words = method_words},
    {.name = "track-score-threshold",
     .summary = "Score above which boxes are also decoded for a boxtrack downstream, which "
                "attaches those that it matches with objects of earlier frames; no other element "
                "sees them. 0.1 is ByteTrack's value; 0 means none. They count towards "
                "max-detections, and nms-method=weighted and merge include them in their means.",
     .member = &DecodeOptions::track_score_threshold,
     .lowest = 0,
     .highest = 1,
     .live = true},
    {.name = "tile-merge",
     .summary = "Measure of overlap by which a box of one tile (tensorinfer tiles=) "
                "suppresses a box of its class in another tile. Applied after suppression in each "
                "tile, to boxes on the frame.",
     .member = &DecodeOptions::tile_merge,
     .words = tile_merges,
     .live = true},
    {.name = "tile-threshold",
     .summary = "Overlap of boxes of different tiles above which one of them is dropped.",
     .member = &DecodeOptions::tile_threshold,
     .lowest = 0,
     .highest = 1,
     .live = true},
    {.name = "tile-border",
     .summary = "A box that is no further than this from an inner edge of its tile, in pixels of "
                "the model input, counts as cut off by that edge. A complete box suppresses a cut "
                "one even if its score is lower, and never the other way round. -1 treats all "
                "boxes alike.",
     .member = &DecodeOptions::tile_border,
     .lowest = -1,
     .highest = UINT16_MAX,
     .live = true},
    {.name = "resize-mode",
     .summary = "How the frame was fitted into the model input. Needed if boxes are mapped to a "
                "frame of another size and the inference element does not declare this.",
     .member = &DecodeOptions::resize_mode,
     .words = resize_modes},
    {.name = "model-size",
     .summary = "Size of the model input in pixels, such as 640x640, if the inference element does "
                "not declare it. Empty takes the size of the frame, or of the square input that "
                "matches the number of anchors.",
     .member = &DecodeOptions::model_size},
    {.name = "num-classes",
     .summary = "Number of classes of the model, not counting a background class. 0 derives it "
                "from the tensor shapes. These do not determine it if keypoints or mask "
                "coefficients follow the class scores: then the prototypes or the label file do, "
                "or else 80 classes (COCO) are assumed.",
     .member = &DecodeOptions::num_classes,
     .highest = kMaxClasses},
    {.name = "tensor-ids",
     .summary = "Comma-separated ids of the tensors to decode, in the order boxes, scores, "
                "classes, count. Empty takes the ids of the family.",
     .member = &DecodeOptions::tensor_ids},
    {.name = "quantization",
     .summary = "Scale and zero point of quantised tensors, where real value = (stored - zero "
                "point) * scale, as a comma-separated list of id:scale:zero-point. An entry "
                "without an id applies to all integer tensors that have no entry of their own; the "
                "zero point may be omitted.",
     .member = &DecodeOptions::quantization},
    {.name = "backend",
     .summary = "Backend that decodes frames; the KEEPBOX_BACKEND environment variable overrides "
                "auto.",
     .member = &DecodeOptions::backend,
     .words = backend_words},
    {.name = "threads",
     .summary = "Maximum number of CPU threads that decode one frame. Several threads pay off with "
                "tensors of a megabyte or more; they shorten the time per frame, but do not lower "
                "the CPU load. 1 uses only the streaming thread.",
     .member = &DecodeOptions::threads,
     .lowest = 1,
     .highest = kMaxThreads},
    {.name = "device-id",
     .summary = "GPU on which backend=cuda decodes tensors in system memory; -1 takes the GPU that "
                "the pipeline already uses. Tensors in CUDA memory are decoded where they are.",
     .member = &DecodeOptions::device_id},
};

}  // namespace

std::span<const Option> decode_options() { return kOptions; }

namespace {

std::unexpected<Error> bad_value(const Option& option, std::string_view text,
                                 const std::string& accepted) {
  return reject(ErrorKind::kInvalid,
                std::format("{} has {}, which is not {}", option.name, in_quotes(text), accepted),
                std::format("set {}= to {}", option.name, accepted));
}

std::string words_text(const std::vector<EnumValue>& words) {
  std::string out;
  for (const EnumValue& each : words) out += (out.empty() ? "" : ", ") + std::string(each.nick);
  return "one of " + out;
}

std::string range_text(const Option& option, bool whole) {
  const char* const kind = whole ? "an integer" : "a number";
  if (option.highest >= FLT_MAX) return kind;
  return std::format("{} from {} to {}", kind, option.lowest, option.highest);
}

template <class T>
Status set_number(const Option& option, std::string_view text, T& out) {
  T value = 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (!parse_finite(text, value) || value < option.lowest || value > option.highest)
      return bad_value(option, text, range_text(option, false));
  } else if (!parse(text, value) || value < option.lowest || value > option.highest) {
    return bad_value(option, text, range_text(option, true));
  }
  out = value;
  return {};
}

Status set_word(const Option& option, std::string_view text, int& out) {
  const auto words = option.words();
  const auto found = std::ranges::find(words, text, &EnumValue::nick);
  if (found == words.end()) return bad_value(option, text, words_text(words));
  out = found->value;
  return {};
}

Status set_value(const Option& option, std::string_view text, int& out) {
  if (option.words != nullptr) return set_word(option, text, out);
  int value = 0;
  if (!parse(text, value) || value < -1) return bad_value(option, text, "a number from 0, or -1");
  out = value;
  return {};
}
Status set_value(const Option& option, std::string_view text, float& out) {
  return set_number(option, text, out);
}
Status set_value(const Option& option, std::string_view text, std::optional<float>& out) {
  float value = 0;
  KB_TRY(set_number(option, text, value));
  out = value;
  return {};
}
Status set_value(const Option& option, std::string_view text, uint32_t& out) {
  return set_number(option, text, out);
}
Status set_value(const Option& option, std::string_view text, bool& out) {
  const auto* found = std::ranges::find(kYesNo, text, &Word<bool>::word);
  if (found == std::end(kYesNo)) return bad_value(option, text, "true or false");
  out = found->value;
  return {};
}
Status set_value(const Option&, std::string_view text, std::string& out) {
  out = text;
  return {};
}

}  // namespace

Status set_option(DecodeOptions& options, std::string_view name, std::string_view text) {
  const auto* found = std::ranges::find(kOptions, name, &Option::name);
  if (found == std::end(kOptions)) {
    NearestName nearest(name);
    for (const Option& each : kOptions) nearest.consider(each.name);
    return reject(ErrorKind::kInvalid, std::format("There is no option {}", in_quotes(name)),
                  nearest.found().empty() ? "remove it, or see the list of options"
                                          : std::format("did you mean {}=?", nearest.found()));
  }
  KB_TRY(std::visit([&](auto member) { return set_value(*found, text, options.*member); },
                    found->member));
  return {};
}

namespace {

/// Takes the value at the beginning of a text: up to a blank, or what is between double quotes.
Result<std::string> take_value(std::string_view name, std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view value = text.substr(0, text.find_first_of(" \t\r\n"));
    text.remove_prefix(value.size());
    return std::string(value);
  }
  const size_t end = text.find('"', 1);
  if (end == text.npos)
    return reject(ErrorKind::kInvalid,
                  std::format("The value of option {} has no closing quote", in_quotes(name)),
                  "add one");
  std::string value(text.substr(1, end - 1));
  text.remove_prefix(end + 1);
  return value;
}

}  // namespace

Result<std::vector<OptionText>> option_texts(std::string_view text) {
  std::vector<OptionText> out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const size_t at = text.find_first_of("= \t\r\n");
    if (at == text.npos || at == 0 || text[at] != '=')
      return reject(ErrorKind::kInvalid,
                    std::format("The options have {}, which is not NAME=VALUE",
                                in_quotes(text.substr(0, at))),
                    "write options such as detector=yolov8 score-threshold=0.3");
    OptionText each{.name = text.substr(0, at), .value = {}};
    text.remove_prefix(at + 1);
    KB_ASSIGN(each.value, take_value(each.name, text));
    out.push_back(std::move(each));
  }
  return out;
}

namespace {

std::string accepted_values(const Option& option) {
  if (option.words != nullptr) {
    std::string out;
    for (const EnumValue& each : option.words())
      out += std::format("\n    {}: {}", each.nick, each.summary);
    return out;
  }
  if (std::holds_alternative<float DecodeOptions::*>(option.member) ||
      std::holds_alternative<std::optional<float> DecodeOptions::*>(option.member))
    return "\n    " + range_text(option, false);
  if (std::holds_alternative<uint32_t DecodeOptions::*>(option.member))
    return "\n    " + range_text(option, true);
  if (std::holds_alternative<bool DecodeOptions::*>(option.member)) return "\n    true or false";
  return "";
}

}  // namespace

std::string describe_options() {
  std::string out;
  for (const Option& each : kOptions)
    out += std::format("{}=\n  {}{}\n\n", each.name, each.summary, accepted_values(each));
  return out;
}

std::vector<std::string> ids_of(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string_view part : split(text, ','))
    if (!part.empty()) ids.emplace_back(part);
  return ids;
}

}  // namespace keepbox
