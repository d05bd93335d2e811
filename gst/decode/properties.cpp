// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxdecode, and their enums.
#include "gst/decode/properties.h"

#include <cfloat>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/threads.h"
#include "core/formula/box.h"
#include "core/formula/conventions.h"
#include "core/model/contracts.h"
#include "core/model/words.h"
#include "core/plan/tiles.h"
#include "core/run/backend.h"
#include "gst/base/props.h"
#include "gst/metas/boxes.h"

namespace keepbox {
namespace {

constexpr size_t kInspectIndent = 26;

/// Returns the sentence with a row per family, laid out as gst-inspect-1.0 prints enums.
const char* detector_blurb() {
  std::string text =
      "Family of the model whose tensors are decoded. auto takes the family that the inference "
      "element declares, or else recognises it. Otherwise the path of a detector file (see keepbox "
      "keys), or one of";
  for (const DetectorSpec& spec : detectors())
    text += "\n" + std::string(kInspectIndent, ' ') + std::string(spec.name) + ": " +
            std::string(spec.summary);
  return g_intern_string(text.c_str());
}

// Live properties need no new plan: retune() applies them, or they affect the frame's metas alone.
const Property<DecodeProps> kDecodeProperties[] = {
    {.name = "detector", .blurb = detector_blurb(), .member = &DecodeProps::detector},
    {.name = "score-threshold",
     .blurb = "Score above which a box is a candidate. Scores are probabilities, 0 to 1, even if "
              "the model outputs logits. If unset, the family's own threshold applies, if it has "
              "one.",
     .member = &DecodeProps::score_threshold,
     .lowest = -FLT_MAX,
     .highest = FLT_MAX,
     .controllable = true,
     .live = true,
     .unset = &DecodeProps::default_score_threshold},
    {.name = "iou-threshold",
     .blurb = "Intersection over union above which a box is suppressed by a better box of its "
              "class. If unset, the family's own threshold applies, if it has one; exports with "
              "Ultralytics metadata use 0.7, as Ultralytics predict() does.",
     .member = &DecodeProps::iou_threshold,
     .controllable = true,
     .live = true,
     .unset = &DecodeProps::default_iou_threshold},
    {.name = "label-file",
     .blurb = "UTF-8 text file with one class name per line, starting with class 0 (the "
              "background, if that is the family's class 0); classes without a line are named "
              "class-N. Empty takes the file named by the detector file, or else the names that "
              "the inference element declares.",
     .member = &DecodeProps::label_file},
    {.name = "include-classes",
     .blurb = "Comma-separated names or numbers of the classes to keep, such as person,2. A "
              "class with ! before it is dropped: !dog keeps all others. Empty keeps all.",
     .member = &DecodeProps::include_classes,
     .live = true},
    {.name = "class-thresholds",
     .blurb = "Score thresholds per class, such as person:0.5,2:0.3; other classes use "
              "score-threshold.",
     .member = &DecodeProps::class_thresholds,
     .live = true},
    {.name = "max-detections",
     .blurb = "Maximum number of boxes per frame, or per object (tensorinfer regions=objects), "
              "best first over all classes, before min-size, max-size and regions are applied. A "
              "frame has at most 10,000 boxes in all, half as many with masks or "
              "also-attach=class; boxes of objects' parts beyond that are dropped with a "
              "warning. GStreamer allocates one byte for each pair of boxes on a frame: 100 MB "
              "for 10,000 boxes.",
     .member = &DecodeProps::max_detections,
     .highest = kMaxMtds},
    {.name = "min-size",
     .blurb = "Minimum width and height of a box in frame pixels, such as 16x16 for all classes "
              "or 16x16,person:32x64,2:0x8 for some; 0 means no limit. Size and region filters "
              "are applied last, after suppression and max-detections, to boxes clipped to the "
              "frame; dropped boxes are not replaced.",
     .member = &DecodeProps::min_size,
     .live = true},
    {.name = "max-size",
     .blurb = "Maximum width and height of a box, in the form of min-size; 0 means no limit.",
     .member = &DecodeProps::max_size,
     .live = true},
    {.name = "regions",
     .blurb = "Regions of the frame in which boxes are kept, as x,y,w,h;x,y,w,h in frame pixels, "
              "or in fractions of the frame if all four values are at most 1. A region with ! "
              "before it is one in which boxes are dropped. A box belongs to a region if its "
              "centre is in it; inside: before the first region requires the whole box, touch: "
              "some part of it. At most 16 regions of each kind; empty means the whole frame.",
     .member = &DecodeProps::regions,
     .live = true},
    {.name = "mask-size",
     .blurb = "Resolution of the masks of kept boxes, if the family has mask coefficients and "
              "prototypes.",
     .member = &DecodeProps::mask_size,
     .enum_type = mask_size_type},
    {.name = "class-agnostic",
     .blurb = "Let boxes of different classes suppress each other.",
     .member = &DecodeProps::class_agnostic},
    {.name = "multi-label",
     .blurb = "Whether an anchor with several classes above the score threshold gives one box "
              "per class, or one box for the best class.",
     .member = &DecodeProps::multi_label,
     .enum_type = multi_label_type},
    {.name = "nms-contract",
     .blurb = "Framework whose suppression conventions are reproduced (comparisons at the "
              "thresholds, ties, pixel widths, corner order, class separation, candidate limit, "
              "method). auto takes the family's contract, ultralytics for exports with "
              "Ultralytics metadata, or else exact.",
     .member = &DecodeProps::nms_contract,
     .enum_type = contract_type},
    {.name = "nms-method",
     .blurb = "Algorithm that suppresses overlapping boxes; overrides the contract's method. "
              "Those that compare pairs take as many candidates, best first, as they can process "
              "in about a second.",
     .member = &DecodeProps::nms_method,
     .enum_type = nms_method_type},
    {.name = "track-score-threshold",
     .blurb = "Score above which boxes are also decoded for a boxtrack downstream, which "
              "attaches those that it matches with objects of earlier frames; no other element "
              "sees them. 0.1 is ByteTrack's value; 0 means none. They count towards "
              "max-detections, and nms-method=weighted and merge include them in their means.",
     .member = &DecodeProps::track_score_threshold,
     .lowest = 0,
     .highest = 1,
     .live = true},
    {.name = "model-name",
     .blurb = "Name of the model, to distinguish its boxes from those of other models on the "
              "same frame. Empty takes the name that the inference element declares, or else the "
              "name of this element, which boxsink writes only if a stream has several models.",
     .member = &DecodeProps::model_name,
     .live = true},
    {.name = "also-attach",
     .blurb = "Metas to attach to each box in addition to its GstAnalyticsODMtd.",
     .member = &DecodeProps::also_attach,
     .enum_type = also_attach_type,
     .live = true},
    {.name = "on-mismatch",
     .blurb = "What to do if a frame's tensors are missing or do not fit: stop the stream, or "
              "pass the frame without boxes. At the start, unreadable files and invalid "
              "properties always stop the stream; later they are refused with a warning.",
     .member = &DecodeProps::on_mismatch,
     .enum_type = on_mismatch_type,
     .live = true},
    {.name = "tile-merge",
     .blurb = "Measure of overlap by which a box of one tile (tensorinfer tiles=) "
              "suppresses a box of its class in another tile. Applied after suppression in each "
              "tile, to boxes on the frame.",
     .member = &DecodeProps::tile_merge,
     .enum_type = tile_merge_type,
     .live = true},
    {.name = "tile-threshold",
     .blurb = "Overlap of boxes of different tiles above which one of them is dropped.",
     .member = &DecodeProps::tile_threshold,
     .lowest = 0,
     .highest = 1,
     .live = true},
    {.name = "tile-border",
     .blurb = "A box that is no further than this from an inner edge of its tile, in pixels of "
              "the model input, counts as cut off by that edge. A complete box suppresses a cut "
              "one even if its score is lower, and never the other way round. -1 treats all "
              "boxes alike.",
     .member = &DecodeProps::tile_border,
     .lowest = -1,
     .highest = G_MAXUINT16,
     .live = true},
    {.name = "resize-mode",
     .blurb = "How the frame was fitted into the model input. Needed if boxes are mapped to a "
              "frame of another size and the inference element does not declare this.",
     .member = &DecodeProps::resize_mode,
     .enum_type = resize_mode_type},
    {.name = "model-size",
     .blurb = "Size of the model input in pixels, such as 640x640, if the inference element does "
              "not declare it. Empty takes the size of the frame, or of the square input that "
              "matches the number of anchors.",
     .member = &DecodeProps::model_size},
    {.name = "num-classes",
     .blurb = "Number of classes of the model, not counting a background class. 0 derives it "
              "from the tensor shapes. These do not determine it if keypoints or mask "
              "coefficients follow the class scores: then the prototypes or the label file do, "
              "or else 80 classes (COCO) are assumed.",
     .member = &DecodeProps::num_classes,
     .highest = kMaxClasses},
    {.name = "tensor-ids",
     .blurb = "Comma-separated ids of the tensors to decode, in the order boxes, scores, "
              "classes, count. Empty takes the ids of the family.",
     .member = &DecodeProps::tensor_ids},
    {.name = "quantization",
     .blurb = "Scale and zero point of quantised tensors, where real value = (stored - zero "
              "point) * scale, as a comma-separated list of id:scale:zero-point. An entry "
              "without an id applies to all integer tensors that have no entry of their own; the "
              "zero point may be omitted.",
     .member = &DecodeProps::quantization},
    {.name = "backend",
     .blurb = "Backend that decodes frames; the KEEPBOX_BACKEND environment variable overrides "
              "auto.",
     .member = &DecodeProps::backend,
     .enum_type = backend_type},
    {.name = "threads",
     .blurb = "Maximum number of CPU threads that decode one frame. Several threads pay off with "
              "tensors of a megabyte or more; they shorten the time per frame, but do not lower "
              "the CPU load. 1 uses only the streaming thread.",
     .member = &DecodeProps::threads,
     .lowest = 1,
     .highest = kMaxThreads},
    {.name = "device-id",
     .blurb = "GPU on which backend=cuda decodes tensors in system memory; -1 takes the GPU that "
              "the pipeline already uses. Tensors in CUDA memory are decoded where they are.",
     .member = &DecodeProps::device_id},
};

}  // namespace

const PropertyTable<DecodeProps>& decode_properties() {
  static constexpr PropertyTable<DecodeProps> table(kDecodeProperties, kChangeWhilePlaying);
  return table;
}

std::vector<std::string> ids_of(const std::string& text) {
  std::vector<std::string> ids;
  g_auto(GStrv) parts = g_strsplit(text.c_str(), ",", -1);
  for (gchar** part = parts; *part != nullptr; ++part)
    if (*g_strstrip(*part) != '\0') ids.emplace_back(*part);
  return ids;
}

bool only_tuned(const DecodeProps& a, const DecodeProps& b) {
  return decode_properties().only_live_differ(a, b);
}

namespace {

template <class Row>
std::vector<EnumValue> rows(std::span<const Row> table, std::string_view Row::* summary,
                            const char* automatic) {
  std::vector<EnumValue> values;
  if (automatic != nullptr) values.push_back({0, "auto", automatic});
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

}  // namespace

GType contract_type() {
  static const GType type = register_enum(
      "KeepboxNmsContract",
      rows(contracts(), &NmsContract::summary, "The contract of the family, or else exact"));
  return type;
}

GType backend_type() {
  static const GType type = register_enum(
      "KeepboxBackend",
      rows(backends(), &Backend::summary, "The fastest one that can read the tensors in place"));
  return type;
}

GType nms_method_type() {
  static const GType type = register_enum("KeepboxNmsMethod", enum_values<NmsMethod>(kMethodWords));
  return type;
}

GType multi_label_type() {
  static const GType type = register_enum(
      "KeepboxMultiLabel", {{kMultiLabelAuto, "auto", "As in the family's framework"},
                            {kMultiLabelTrue, "true", "One box per class whose score passes"},
                            {kMultiLabelFalse, "false", "One box for the best class"}});
  return type;
}

GType mask_size_type() {
  static const GType type = register_enum(
      "KeepboxMaskSize",
      {{kMaskSizeNone, "none", "No masks"},
       {kMaskSizePrototypes, "prototypes",
        "Resolution of the prototypes, typically a quarter of the model input"},
       {kMaskSizeFrame, "frame",
        "Resolution of the frame, interpolated bilinearly as with Ultralytics' retina_masks"}});
  return type;
}

GType also_attach_type() {
  static const GType type =
      register_flags("KeepboxAlsoAttach",
                     {{kAttachRoi, "roi",
                       "A GstVideoRegionOfInterestMeta with the box's id, as DL Streamer reads it"},
                      {kAttachClass, "class", "A GstAnalyticsClsMtd related to the box"}});
  return type;
}

GType tile_merge_type() {
  static const GType type = register_enum(
      "KeepboxTileMerge",
      {{static_cast<int>(TileMerge::kIos), "ios",
        "Intersection over the smaller area, which also drops a part of an object if another "
        "tile has the whole"},
       {static_cast<int>(TileMerge::kIou), "iou", "Intersection over union"},
       {kUnionOf + static_cast<int>(TileMerge::kIos), "ios-union",
        "As ios, and the kept box is extended over those that it drops, for objects that are "
        "larger "
        "than the overlap of tiles. Keypoints and masks stay its own. Not for oriented boxes"},
       {kUnionOf + static_cast<int>(TileMerge::kIou), "iou-union",
        "As iou, extended in the same way"},
       {static_cast<int>(TileMerge::kNone), "none", "Keep the boxes of all tiles"}});
  return type;
}

GType on_mismatch_type() {
  static const GType type = register_enum(
      "KeepboxOnMismatch",
      {{static_cast<int>(OnMismatch::kError), "error",
        "Post an element error, which stops the stream"},
       {static_cast<int>(OnMismatch::kWarn), "warn",
        "Post an element warning once per cause and pass the frame without boxes"},
       {static_cast<int>(OnMismatch::kPass), "pass", "Pass the frame without boxes"}});
  return type;
}

}  // namespace keepbox
