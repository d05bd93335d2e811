// SPDX-License-Identifier: LGPL-2.1-or-later
// One table of boxdecode's properties: name, blurb, range, default and where the value is kept.
#include "gst/decode/decodeprops.h"

#include <cfloat>

#include "core/box.h"
#include "core/crew.h"
#include "gst/base/enums.h"
#include "gst/base/words.h"
#include "gst/decode/decodeenums.h"
#include "gst/decode/filtertext.h"
#include "gst/metas/analytics.h"

namespace keepbox {
namespace {

constexpr size_t kInspectIndent = 26;
constexpr guint kMostPixels = 1u << 16;

/// The sentence, and a row for each family as gst-inspect-1.0 has them for enums.
const char* detector_blurb() {
  std::string text =
      "Family of the model whose tensors are decoded: auto takes the one that the inference element "
      "says, else recognises it; the name of a file that describes a family as keepbox keys explains; "
      "or one of";
  for (const DetectorSpec& spec : detectors())
    text += "\n" + std::string(kInspectIndent, ' ') + std::string(spec.name) + ": " +
            std::string(spec.summary);
  return g_intern_string(text.c_str());
}

const Property<DecodeProps> kDecodeProperties[] = {
    {"detector", detector_blurb(), &DecodeProps::detector},
    {"tensor-ids",
     "Ids of the tensors to decode, with commas, in the order boxes, scores, classes, count; "
     "empty takes those that the detector is known by.",
     &DecodeProps::tensor_ids},
    {"quantization",
     "Scale and zero point of quantised tensors, real value = (stored - zero point) * scale: "
     "id:scale:zero-point, several with commas. Without an id it is for all tensors of whole "
     "numbers that have none; the zero point may be left out.",
     &DecodeProps::quantization},
    {"score-threshold",
     "A box is a candidate when its score is above this; scores are probabilities, in 0 to 1, also "
     "of models that give logits. Until it is set the family's own counts, where it has one.",
     &DecodeProps::score_threshold, nullptr, -FLT_MAX, FLT_MAX, true, false,
     &DecodeProps::score_threshold_set},
    {"iou-threshold",
     "A box is suppressed when a better one of its class overlaps it by an intersection over "
     "union above this. Until it is set the family's own counts, where it has one, and 0.7 for "
     "exports with Ultralytics' metadata, as its predict() has it.",
     &DecodeProps::iou_threshold, nullptr, 0, 1, true, false, &DecodeProps::iou_threshold_set},
    {"multi-label",
     "Whether an anchor whose scores of several classes pass makes a box for each, or one for the "
     "best of them.",
     &DecodeProps::multi_label, multi_label_type},
    {"max-detections",
     "Most boxes that a frame gets, the best ones over all classes, before min-size, max-size and "
     "regions drop some of them. GStreamer keeps a byte for each pair of a frame's boxes: 100 MB for "
     "10,000.",
     &DecodeProps::max_detections, nullptr, 0, kMostMtds},
    {"class-top-k",
     "Most boxes of each class that a frame gets, the best ones; 0 sets no limit but "
     "max-detections.",
     &DecodeProps::class_top_k, nullptr, 0, kMaxAnchors},
    {"pre-nms-top-k",
     "Best candidates that enter suppression; 0 lets all enter, or as many as the contract says, or "
     "as the method compares within about a second: 16384 by fast and matrix, at max-detections=300 "
     "112000 by merge, 224000 by soft-linear, soft-gaussian and weighted, 448000 by diou, and of "
     "turned boxes fewer.",
     &DecodeProps::pre_nms_top_k, nullptr, 0, kMaxAnchors},
    {"pre-nms-class-top-k",
     "Best candidates of each class that enter suppression, of which pre-nms-top-k may leave out "
     "more; 0 lets all enter.",
     &DecodeProps::pre_nms_class_top_k, nullptr, 0, kMaxAnchors},
    {"class-agnostic", "Boxes of different classes suppress each other too.",
     &DecodeProps::class_agnostic},
    {"nms-contract",
     "Conventions of suppression (comparisons at the thresholds, equal scores, pixel widths, "
     "corner order, how classes are kept apart, most candidates, method) of the framework whose "
     "boxes are to be reproduced; auto takes the family's, for exports with Ultralytics' metadata "
     "ultralytics, else exact.",
     &DecodeProps::nms_contract, contract_type},
    {"nms-method",
     "How overlapping boxes are thinned out; what is set counts before the contract's.",
     &DecodeProps::nms_method, nms_method_type},
    {"soft-nms-sigma",
     "Width of the gaussian of nms-method=soft-gaussian and matrix: the less, the further scores "
     "fall. Codes that multiply by a sigma of 2 mean 0.5, and nms-contract=tensorflow takes "
     "TensorFlow's.",
     &DecodeProps::soft_nms_sigma, nullptr, FLT_MIN, FLT_MAX},
    {"num-classes",
     "Number of classes of the model without a background; 0 takes it from the tensors' shapes, and "
     "where keypoints or mask coefficients follow the class scores, from the prototypes beside them, "
     "the label file, or models of COCO.",
     &DecodeProps::num_classes, nullptr, 0, kMaxClasses},
    {"label-file",
     "UTF-8 text file with one class name a line, the first for class 0, which is the background "
     "where a family has it first; classes beyond it are called class-N. Empty takes the one that "
     "detector=FILE says, else the names that the inference element says.",
     &DecodeProps::label_file},
    {"priors-file",
     "Text file with the prior boxes of an SSD: N lines of cy cx h w, or four lines of N numbers, "
     "in fractions of the input.",
     &DecodeProps::priors_file},
    {"include-classes", "Names or numbers, with commas, of the only classes to keep; empty keeps all.",
     &DecodeProps::include_classes},
    {"exclude-classes", "Names or numbers, with commas, of classes to drop.",
     &DecodeProps::exclude_classes},
    {"class-thresholds",
     "Score thresholds of single classes, as person:0.5,2:0.3; others take score-threshold.",
     &DecodeProps::class_thresholds},
    {"min-size",
     "Least width and height of a box in pixels of the frame, as 16x16 for all classes or "
     "16x16,person:32x64,2:0x8 for some; a box that is smaller in either is dropped, 0 is no limit. "
     "Sizes and regions are asked after suppression and max-detections, of boxes that are clipped to "
     "the frame: others do not move up.",
     &DecodeProps::min_size},
    {"max-size", "Largest width and height of a box, as min-size; 0 is no limit.",
     &DecodeProps::max_size},
    {"regions",
     "Parts of the frame outside of which boxes are dropped, as x,y,w,h;x,y,w,h in pixels of the "
     "frame, or in fractions of it where all four are at most 1; 16 at most. Empty keeps boxes "
     "everywhere.",
     &DecodeProps::regions},
    {"exclude-regions", "Parts of the frame whose boxes are dropped, as regions.",
     &DecodeProps::exclude_regions},
    {"region-rule", "When a box counts as one of a region.", &DecodeProps::region_rule,
     region_rule_type},
    {"box-units",
     "Units of the tensor's box coordinates; auto takes those that the inference element says, else "
     "tells by the numbers.",
     &DecodeProps::box_units, units_type},
    {"resize-mode",
     "How the picture was fitted into the model's input, for boxes on a picture of another size and "
     "tensors whose inference element does not say.",
     &DecodeProps::resize_mode, resize_mode_type},
    {"model-width",
     "Width of the model's input in pixels, where the inference element does not say; 0 takes the "
     "frame's, or that of the square input which the number of anchors belongs to.",
     &DecodeProps::model_width, nullptr, 0, kMostPixels},
    {"model-height", "Height of the model's input in pixels; 0 as for model-width.",
     &DecodeProps::model_height, nullptr, 0, kMostPixels},
    {"source-width",
     "Width of the picture that boxes are mapped to, when the frame here is a resized copy of it; "
     "0 maps them to the frame.",
     &DecodeProps::source_width, nullptr, 0, kMostPixels},
    {"source-height", "Height of the picture that boxes are mapped to; 0 as for source-width.",
     &DecodeProps::source_height, nullptr, 0, kMostPixels},
    {"backend",
     "Code that does the work; KEEPBOX_BACKEND in the environment replaces auto.",
     &DecodeProps::backend, backend_type},
    {"threads",
     "Most threads that decode a frame on the CPU. Tensors of a megabyte and more gain by several, in "
     "time a frame rather than in work; 1 leaves it to the streaming thread.",
     &DecodeProps::threads, nullptr, 1, kMaxCrew},
    {"cuda-device-id",
     "GPU that tensors in system memory are decoded on with backend=cuda; -1 takes the one that the "
     "pipeline uses already. Tensors in CUDA memory are decoded where they are.",
     &DecodeProps::cuda_device_id},
    {"on-mismatch",
     "What happens when a frame's tensors are missing or do not fit: the stream stops, or the frame "
     "goes on without boxes. Files that cannot be read and properties that make no sense always stop "
     "it.",
     &DecodeProps::on_mismatch, on_mismatch_type},
    {"roi-meta",
     "Also attach a GstVideoRegionOfInterestMeta with each box's id, as DL Streamer reads it.",
     &DecodeProps::roi_meta},
    {"class-meta", "Also attach a GstAnalyticsClsMtd related to each box.",
     &DecodeProps::class_meta},
    {"keypoints",
     "Read the points of kept boxes (joints of a body, landmarks of a face) of families that have "
     "them, and attach them.",
     &DecodeProps::keypoints},
    {"masks",
     "Make the masks of kept boxes of families that have coefficients and prototypes, and attach "
     "them.",
     &DecodeProps::masks},
    {"mask-size", "The resolution of masks.", &DecodeProps::mask_size, mask_size_type},
    {"model-name",
     "Name of the model, which tells its boxes from those of other models on a frame. Empty takes the "
     "one that the inference element says, else this element's, which boxsink shows only where a "
     "stream has several models.",
     &DecodeProps::model_name},
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
  DecodeProps tuned = a;
  for (auto member : {&DecodeProps::score_threshold, &DecodeProps::iou_threshold})
    tuned.*member = b.*member;
  for (auto member : {&DecodeProps::include_classes, &DecodeProps::exclude_classes,
                      &DecodeProps::class_thresholds, &DecodeProps::model_name,
                      &DecodeProps::min_size, &DecodeProps::max_size, &DecodeProps::regions,
                      &DecodeProps::exclude_regions})
    tuned.*member = b.*member;
  tuned.region_rule = b.region_rule;
  for (auto member : {&DecodeProps::score_threshold_set, &DecodeProps::iou_threshold_set,
                      &DecodeProps::roi_meta, &DecodeProps::class_meta})
    tuned.*member = b.*member;
  tuned.on_mismatch = b.on_mismatch;
  return tuned == b;
}

namespace {

/// Lists in words, which may be wrong in a way that no range of a property can tell.
constexpr struct {
  const char* name;
  std::string DecodeProps::*list;
} kLists[] = {{"include-classes", &DecodeProps::include_classes},
              {"exclude-classes", &DecodeProps::exclude_classes},
              {"class-thresholds", &DecodeProps::class_thresholds},
              {"min-size", &DecodeProps::min_size},
              {"max-size", &DecodeProps::max_size},
              {"regions", &DecodeProps::regions},
              {"exclude-regions", &DecodeProps::exclude_regions}};

std::optional<bool> multi_label_of(const DecodeProps& props) {
  if (props.multi_label == kMultiLabelAuto) return std::nullopt;
  return props.multi_label == kMultiLabelTrue;
}

/// The one that boxes are mapped to.
Picture wanted_picture(const DecodeProps& props, const Picture& frame) {
  if (props.source_width == 0 || props.source_height == 0) return frame;
  return {.size = {props.source_width, props.source_height}};
}

/// What properties left open.
void take_source(Settings& settings, const TensorSource& source) {
  settings.told_detector = source.detector;
  settings.told_contract = source.contract;
  settings.told_iou_threshold = source.iou_threshold;
  if (settings.units == Units::kAuto) settings.units = source.units;
  if (source.has_geometry()) settings.letterbox = source.geometry;
}

Result<FilterSettings> filters_of(const DecodeProps& props, const Labels& labels) {
  auto least = sizes_of(props.min_size, labels, "min-size");
  if (!least) return std::unexpected(least.error());
  auto most = sizes_of(props.max_size, labels, "max-size");
  if (!most) return std::unexpected(most.error());
  auto wanted = regions_of(props.regions, "regions");
  if (!wanted) return std::unexpected(wanted.error());
  auto excluded = regions_of(props.exclude_regions, "exclude-regions");
  if (!excluded) return std::unexpected(excluded.error());
  return FilterSettings{.least = std::move(*least),
                        .most = std::move(*most),
                        .wanted = std::move(*wanted),
                        .excluded = std::move(*excluded),
                        .rule = static_cast<RegionRule>(props.region_rule)};
}

}  // namespace

Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorSource* source) {
  Settings out{.detector = props.detector.empty() ? Settings{}.detector : props.detector,
               .tensor_ids = ids_of(props.tensor_ids),
               .score_threshold = props.score_threshold,
               .iou_threshold = props.iou_threshold,
               .max_detections = props.max_detections,
               .class_top_k = props.class_top_k,
               .pre_nms_top_k = props.pre_nms_top_k,
               .pre_nms_class_top_k = props.pre_nms_class_top_k,
               .default_score_threshold = !props.score_threshold_set,
               .default_iou_threshold = !props.iou_threshold_set,
               .multi_label = multi_label_of(props),
               .contract = nick_of(contract_type(), props.nms_contract),
               .class_agnostic = props.class_agnostic,
               .method = static_cast<NmsMethod>(props.nms_method),
               .soft_sigma = props.soft_nms_sigma,
               .units = static_cast<Units>(props.box_units),
               .resize = static_cast<ResizeMode>(props.resize_mode),
               .model = {props.model_width, props.model_height},
               .frame = wanted_picture(props, frame),
               .tensor_frame = frame.size,
               .label_count = labels.size(),
               .class_count = props.num_classes,
               .points = props.keypoints,
               .masks = props.masks,
               .frame_masks = props.mask_size == kMaskSizeFrame};
  if (source != nullptr) take_source(out, *source);
  auto include = labels.classes_of(props.include_classes, "include-classes");
  if (!include) return std::unexpected(include.error());
  auto exclude = labels.classes_of(props.exclude_classes, "exclude-classes");
  if (!exclude) return std::unexpected(exclude.error());
  auto thresholds = labels.thresholds_of(props.class_thresholds, "class-thresholds");
  if (!thresholds) return std::unexpected(thresholds.error());
  out.include_classes = std::move(*include);
  out.exclude_classes = std::move(*exclude);
  out.class_thresholds = std::move(*thresholds);
  auto filters = filters_of(props, labels);
  if (!filters) return std::unexpected(filters.error());
  out.filters = std::move(*filters);
  return out;
}

std::vector<Error> keep_right_lists(DecodeProps& props, const DecodeProps& old,
                                    const Labels& labels) {
  std::vector<Error> wrong;
  for (const auto& [name, list] : kLists) {
    DecodeProps alone;
    alone.*list = props.*list;
    const auto settings = resolve(alone, labels, Picture(), nullptr);
    if (settings) continue;
    wrong.push_back(settings.error());
    wrong.back().hint += std::string("; ") + name + " stays " + in_quotes(old.*list);
    props.*list = old.*list;
  }
  return wrong;
}

std::vector<const char*> take_lists(DecodeProps& props, const DecodeProps& asked,
                                    const DecodeProps& in_force) {
  std::vector<const char*> changed;
  for (const auto& [name, list] : kLists) {
    if (asked.*list == in_force.*list || props.*list != asked.*list) continue;
    props.*list = in_force.*list;
    changed.push_back(name);
  }
  return changed;
}

}  // namespace keepbox
