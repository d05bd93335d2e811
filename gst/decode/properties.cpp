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
constexpr guint kMaxPixels = 1u << 16;

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

/// Marks a property whose changes need no new plan: retune() applies them, or they affect the
/// frame's metas alone.
constexpr Property<DecodeProps> live(Property<DecodeProps> property) {
  property.live = true;
  return property;
}

const Property<DecodeProps> kDecodeProperties[] = {
    {"detector", detector_blurb(), &DecodeProps::detector},
    {"tensor-ids",
     "Comma-separated ids of the tensors to decode, in the order boxes, scores, classes, count. "
     "Empty takes the ids of the family.",
     &DecodeProps::tensor_ids},
    {"quantization",
     "Scale and zero point of quantised tensors, where real value = (stored - zero point) * scale, "
     "as a comma-separated list of id:scale:zero-point. An entry without an id applies to all "
     "integer tensors that have no entry of their own; the zero point may be omitted.",
     &DecodeProps::quantization},
    live({"score-threshold",
          "Score above which a box is a candidate. Scores are probabilities, 0 to 1, even if the "
          "model outputs logits. If unset, the family's own threshold applies, if it has one.",
          &DecodeProps::score_threshold, nullptr, -FLT_MAX, FLT_MAX, true, false,
          &DecodeProps::score_threshold_set}),
    live({"track-score-threshold",
          "Score above which boxes are also decoded for a boxtrack downstream, which attaches "
          "those that it matches with objects of earlier frames; no other element sees them. 0.1 "
          "is ByteTrack's value; 0 means none. They count towards max-detections, and "
          "nms-method=weighted and merge include them in their means.",
          &DecodeProps::track_score_threshold, nullptr, 0, 1}),
    live({"iou-threshold",
          "Intersection over union above which a box is suppressed by a better box of its class. "
          "If unset, the family's own threshold applies, if it has one; exports with Ultralytics "
          "metadata use 0.7, as Ultralytics predict() does.",
          &DecodeProps::iou_threshold, nullptr, 0, 1, true, false,
          &DecodeProps::iou_threshold_set}),
    {"multi-label",
     "Whether an anchor with several classes above the score threshold gives one box per class, or "
     "one box for the best class.",
     &DecodeProps::multi_label, multi_label_type},
    {"max-detections",
     "Maximum number of boxes per frame, or per object (tensorinfer regions=objects), best "
     "first over all classes, before min-size, max-size and regions are applied. A frame "
     "has at most 10,000 boxes in all, half as many with masks or class-meta=true; boxes of "
     "objects' parts beyond that are dropped with a warning. GStreamer allocates one byte "
     "for each pair of boxes on a frame: 100 MB for 10,000 boxes.",
     &DecodeProps::max_detections, nullptr, 0, kMaxMtds},
    {"class-top-k",
     "Maximum number of boxes per class and frame, best first; 0 means no limit other than "
     "max-detections.",
     &DecodeProps::class_top_k, nullptr, 0, kMaxAnchors},
    {"pre-nms-top-k",
     "Maximum number of candidates, best first, that enter suppression. 0 means the limit of the "
     "contract, if any, or what the method can process in about a second: 16384 for fast and "
     "matrix; with max-detections=300, 112000 for merge, 224000 for soft-linear, soft-gaussian and "
     "weighted, 448000 for diou; fewer for oriented boxes.",
     &DecodeProps::pre_nms_top_k, nullptr, 0, kMaxAnchors},
    {"pre-nms-class-top-k",
     "Maximum number of candidates per class, best first, that enter suppression; applied before "
     "pre-nms-top-k. 0 means no limit.",
     &DecodeProps::pre_nms_class_top_k, nullptr, 0, kMaxAnchors},
    {"class-agnostic", "Let boxes of different classes suppress each other.",
     &DecodeProps::class_agnostic},
    {"nms-contract",
     "Framework whose suppression conventions are reproduced (comparisons at the thresholds, ties, "
     "pixel widths, corner order, class separation, candidate limit, method). auto takes the "
     "family's contract, ultralytics for exports with Ultralytics metadata, or else exact.",
     &DecodeProps::nms_contract, contract_type},
    {"nms-method", "Algorithm that suppresses overlapping boxes; overrides the contract's method.",
     &DecodeProps::nms_method, nms_method_type},
    {"soft-nms-sigma",
     "Sigma of nms-method=soft-gaussian and matrix: the smaller, the more scores are "
     "lowered. 0.5 corresponds to a sigma of 2 in code that multiplies by it. With "
     "nms-contract=tensorflow, use TensorFlow's value.",
     &DecodeProps::soft_nms_sigma, nullptr, FLT_MIN, FLT_MAX},
    {"num-classes",
     "Number of classes of the model, not counting a background class. 0 derives it from "
     "the tensor shapes. These do not determine it if keypoints or mask coefficients follow "
     "the class scores: then the prototypes or the label file do, or else 80 classes (COCO) "
     "are assumed.",
     &DecodeProps::num_classes, nullptr, 0, kMaxClasses},
    {"label-file",
     "UTF-8 text file with one class name per line, starting with class 0 (the background, "
     "if that is the family's class 0); classes without a line are named class-N. Empty "
     "takes the file named by the detector file, or else the names that the inference "
     "element declares.",
     &DecodeProps::label_file},
    {"priors-file",
     "Text file with the prior boxes of an SSD model: N lines of cy cx h w, or four lines of N "
     "numbers, as fractions of the model input.",
     &DecodeProps::priors_file},
    live({"include-classes",
          "Comma-separated names or numbers of the classes to keep; empty keeps all.",
          &DecodeProps::include_classes}),
    live({"exclude-classes", "Comma-separated names or numbers of the classes to drop.",
          &DecodeProps::exclude_classes}),
    live(
        {"class-thresholds",
         "Score thresholds per class, such as person:0.5,2:0.3; other classes use score-threshold.",
         &DecodeProps::class_thresholds}),
    live({"min-size",
          "Minimum width and height of a box in frame pixels, such as 16x16 for all classes or "
          "16x16,person:32x64,2:0x8 for some; 0 means no limit. Size and region filters are "
          "applied last, after suppression and max-detections, to boxes clipped to the frame; "
          "dropped boxes are not replaced.",
          &DecodeProps::min_size}),
    live({"max-size",
          "Maximum width and height of a box, in the form of min-size; 0 means no limit.",
          &DecodeProps::max_size}),
    live({"regions",
          "Regions of the frame in which boxes are kept, as x,y,w,h;x,y,w,h in frame pixels, or "
          "in fractions of the frame if all four values are at most 1. At most 16 regions; empty "
          "means the whole frame.",
          &DecodeProps::regions}),
    live({"exclude-regions",
          "Regions of the frame in which boxes are dropped, in the same form as regions.",
          &DecodeProps::exclude_regions}),
    live({"region-rule", "Rule that decides if a box belongs to a region.",
          &DecodeProps::region_rule, region_rule_type}),
    {"box-units",
     "Units of the box coordinates in the tensor. auto takes the units that the inference element "
     "declares, or else derives them from the values.",
     &DecodeProps::box_units, units_type},
    {"resize-mode",
     "How the frame was fitted into the model input. Needed if boxes are mapped to a frame "
     "of another size and the inference element does not declare this.",
     &DecodeProps::resize_mode, resize_mode_type},
    {"model-width",
     "Width of the model input in pixels, if the inference element does not declare it. 0 takes "
     "the width of the frame, or of the square input that matches the number of anchors.",
     &DecodeProps::model_width, nullptr, 0, kMaxPixels},
    {"model-height", "Height of the model input in pixels; see model-width.",
     &DecodeProps::model_height, nullptr, 0, kMaxPixels},
    {"source-width",
     "Width of the frame that boxes are mapped to, if this element receives a resized copy of it; "
     "0 maps boxes to the frame itself.",
     &DecodeProps::source_width, nullptr, 0, kMaxPixels},
    {"source-height", "Height of the frame that boxes are mapped to; see source-width.",
     &DecodeProps::source_height, nullptr, 0, kMaxPixels},
    {"backend",
     "Backend that decodes frames; the KEEPBOX_BACKEND environment variable overrides auto.",
     &DecodeProps::backend, backend_type},
    {"threads",
     "Maximum number of CPU threads that decode one frame. Several threads pay off with "
     "tensors of a megabyte or more; they shorten the time per frame, but do not lower the "
     "CPU load. 1 uses only the streaming thread.",
     &DecodeProps::threads, nullptr, 1, kMaxThreads},
    {"cuda-device-id",
     "GPU on which backend=cuda decodes tensors in system memory; -1 takes the GPU that the "
     "pipeline already uses. Tensors in CUDA memory are decoded where they are.",
     &DecodeProps::cuda_device_id},
    live({"on-mismatch",
          "What to do if a frame's tensors are missing or do not fit: stop the stream, or pass the "
          "frame without boxes. Unreadable files and invalid properties always stop the stream.",
          &DecodeProps::on_mismatch, on_mismatch_type}),
    live({"roi-meta",
          "Also attach a GstVideoRegionOfInterestMeta with each box's id, as DL Streamer reads it.",
          &DecodeProps::roi_meta}),
    live({"class-meta", "Also attach a GstAnalyticsClsMtd related to each box.",
          &DecodeProps::class_meta}),
    {"keypoints",
     "Read and attach the keypoints (body joints, facial landmarks) of kept boxes, if the family "
     "has keypoints.",
     &DecodeProps::keypoints},
    {"masks",
     "Make and attach the masks of kept boxes, if the family has mask coefficients and prototypes.",
     &DecodeProps::masks},
    {"mask-size", "Resolution of masks.", &DecodeProps::mask_size, mask_size_type},
    live({"tile-merge",
          "Measure of overlap by which a box of one tile (tensorinfer tiles= or tile-size=) "
          "suppresses a box of its class in another tile. Applied after suppression in each tile, "
          "to boxes on the frame.",
          &DecodeProps::tile_merge, tile_merge_type}),
    live({"tile-threshold",
          "Overlap of boxes of different tiles above which one of them is dropped.",
          &DecodeProps::tile_threshold, nullptr, 0, 1}),
    live({"tile-border",
          "A box that is no further than this from an inner edge of its tile, in pixels of the "
          "model input, counts as cut off by that edge. A complete box suppresses a cut one even "
          "if its score is lower, and never the other way round. -1 treats all boxes alike.",
          &DecodeProps::tile_border, nullptr, -1, G_MAXUINT16}),
    live({"tile-union",
          "Extend a box so that it encloses the boxes of other tiles that it suppresses, for "
          "objects that are larger than the overlap of tiles. Keypoints and masks stay those of "
          "the box. Not possible with oriented boxes.",
          &DecodeProps::tile_union}),
    live({"model-name",
          "Name of the model, to distinguish its boxes from those of other models on the same "
          "frame. Empty takes the name that the inference element declares, or else the name of "
          "this element, which boxsink writes only if a stream has several models.",
          &DecodeProps::model_name}),
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
      {{kMaskSizePrototypes, "prototypes",
        "Resolution of the prototypes, typically a quarter of the model input"},
       {kMaskSizeFrame, "frame",
        "Resolution of the frame, interpolated bilinearly as with Ultralytics' retina_masks"}});
  return type;
}

GType tile_merge_type() {
  static const GType type = register_enum(
      "KeepboxTileMerge",
      {{static_cast<int>(TileMerge::kIos), "ios",
        "Intersection over the smaller area, which also drops a part of an object if another "
        "tile has the whole"},
       {static_cast<int>(TileMerge::kIou), "iou", "Intersection over union"},
       {static_cast<int>(TileMerge::kNone), "none", "Keep the boxes of all tiles"}});
  return type;
}

GType units_type() {
  static const GType type = register_enum("KeepboxBoxUnits", enum_values<Units>(kUnitsWords));
  return type;
}

GType region_rule_type() {
  static const GType type = register_enum(
      "KeepboxRegionRule",
      {{static_cast<int>(RegionRule::kCenter), "center",
        "The centre of the box is in the region, which includes its left and upper edges"},
       {static_cast<int>(RegionRule::kInside), "inside", "The whole box is in the region"},
       {static_cast<int>(RegionRule::kTouch), "touch", "Some part of the box is in the region"}});
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
