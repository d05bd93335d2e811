// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of model families.
#include <algorithm>
#include <array>

#include "core/detector.h"

namespace keepbox {
namespace {

using Ids = std::array<std::string_view, 4>;
using Plain = std::array<std::string_view, 2>;
using Strides = std::array<uint16_t, kMostLevels>;

constexpr Strides kThree{8, 16, 32}, kFour{8, 16, 32, 64}, kFive{8, 16, 32, 64, 128};

// ---- YOLO

constexpr AnchorSize kYolov3Anchors[]{{10, 13},  {16, 30},   {33, 23},  {30, 61}, {62, 45},
                                      {59, 119}, {116, 90}, {156, 198}, {373, 326}};
constexpr AnchorSize kYolov3TinyAnchors[]{{10, 14}, {23, 27},   {37, 58},
                                          {81, 82}, {135, 169}, {344, 319}};
constexpr AnchorSize kYolov4Anchors[]{{12, 16},  {19, 36},   {40, 28},   {36, 75}, {76, 55},
                                      {72, 146}, {142, 110}, {192, 243}, {459, 401}};

constexpr DetectorSpec objectness_rows(std::string_view name, std::string_view summary,
                                       uint8_t anchors) {
  return {.name = name,
          .summary = summary,
          .columns = {.objectness = 4, .classes = 5},
          .score = ScoreRule::kProduct,
          .strides = kThree,
          .cell_anchors = {anchors}};
}

constexpr DetectorSpec one_class_by_objectness(DetectorSpec spec) {
  spec.score = ScoreRule::kObjectness;
  return spec;
}

/// Feature maps before their decoding layer, one a level.
constexpr DetectorSpec anchored_heads(std::string_view name, std::string_view summary,
                                      BoxCoding coding, std::span<const AnchorSize> anchors,
                                      Strides strides = kThree) {
  DetectorSpec spec = objectness_rows(name, summary, 3);
  spec.coding = coding;
  spec.activation = Activation::kSigmoid;
  spec.strides = strides;
  spec.anchors.sizes = anchors;
  return spec;
}

constexpr DetectorSpec yolox(std::string_view name, std::string_view summary, BoxCoding coding) {
  DetectorSpec spec = objectness_rows(name, summary, 1);
  spec.tensors[0].ids = {"yolox-out"};
  spec.coding = coding;
  spec.score = ScoreRule::kArgmaxFirst;
  return spec;
}

constexpr DetectorSpec class_planes(std::string_view name, std::string_view summary,
                                    Ids ids = {}) {
  return {.name = name,
          .summary = summary,
          .tensors = {{{.ids = ids}}},
          .columns = {.classes = 4},
          .strides = kThree};
}

/// Distances as softmax over bins, from cells' centres.
constexpr DetectorSpec binned(DetectorSpec spec, uint8_t bins, float cell_offset) {
  spec.coding = BoxCoding::kDistanceBins;
  spec.bins = bins;
  spec.cell_offset = cell_offset;
  return spec;
}

constexpr DetectorSpec binned_heads(std::string_view name, std::string_view summary) {
  DetectorSpec spec = binned(class_planes(name, summary), 16, 0.5f);
  spec.columns.classes = 64;
  spec.activation = Activation::kSigmoid;
  return spec;
}

// ---- Boxes and scores in a tensor each

constexpr DetectorSpec split(std::string_view name, std::string_view summary, TensorRule boxes,
                             TensorRule scores, BoxCoding coding) {
  boxes.role = Role::kBoxes;
  scores.role = Role::kScores;
  return {.name = name,
          .summary = summary,
          .reader = Reader::kSplit,
          .tensors = {{boxes, scores}},
          .tensor_count = 2,
          .columns = {.classes = 0},
          .coding = coding};
}

constexpr DetectorSpec with_strides(DetectorSpec spec, Strides strides,
                                    std::array<uint8_t, kMostLevels> anchors = {1}) {
  spec.strides = strides;
  spec.cell_anchors = anchors;
  return spec;
}

/// Undecoded heads with their boxes in a tensor of their own, or in one a level.
constexpr DetectorSpec split_heads(std::string_view name, std::string_view summary,
                                   Activation activation) {
  DetectorSpec spec = with_strides(
      binned(split(name, summary, {}, {}, BoxCoding::kDistanceBins), 16, 0.5f), kThree);
  spec.activation = activation;
  return spec;
}

/// Queries: nothing is suppressed, each box may have several classes.
constexpr DetectorSpec queries(std::string_view name, std::string_view summary, Plain boxes,
                               Plain scores) {
  DetectorSpec spec = split(name, summary, {.plain = boxes}, {.plain = scores},
                            BoxCoding::kCenterSize);
  spec.units = Units::kNormalized;
  spec.activation = Activation::kSigmoid;
  spec.multi_label = true;
  spec.nms = NmsMethod::kNone;
  return spec;
}

constexpr DetectorSpec detr(DetectorSpec spec) {
  spec.activation = Activation::kSoftmax;
  spec.background = Background::kLast;
  spec.multi_label = false;
  return spec;
}

constexpr DetectorSpec labelled(DetectorSpec spec) {
  spec.multi_label = true;
  return spec;
}

/// Distributions over eight bins and scores, a level each.
constexpr DetectorSpec picodet() {
  DetectorSpec spec = labelled(with_strides(
      binned(split("picodet",
                   "PicoDet before its post-processing: scores and softmax over bins of left top "
                   "right bottom, a tensor each and one a level",
                   {}, {}, BoxCoding::kDistanceBins),
             8, 0.5f),
      kFour));
  return spec;
}

constexpr DetectorSpec nanodet() {
  DetectorSpec spec = binned(
      class_planes("nanodet-plus", "NanoDet-Plus: rows of class scores, then softmax over bins of "
                                   "left top right bottom"),
      8, 0);
  spec.columns = {.classes = 0, .box_last = true};
  spec.strides = kFour;
  return spec;
}

// ---- Anchors by their sizes

constexpr float kThirds[]{1, 1.2599210498948732f, 1.5874010519681994f};
constexpr float kOne[]{1};
constexpr AnchorSize kRatios[]{{1, 1}, {1.4f, 0.7f}, {0.7f, 1.4f}};
constexpr AnchorSize kSquareRatios[]{
    {1.4142135623730951f, 0.70710678118654752f}, {1, 1}, {0.70710678118654752f, 1.4142135623730951f}};
constexpr AnchorSize kRetinaFaceAnchors[]{{16, 16},   {32, 32},   {64, 64},
                                          {128, 128}, {256, 256}, {512, 512}};
// Of an input of 300: 0.2 + (0.95 - 0.2) k / 5 of it, its square roots with ratios, and the mean of
// neighbours.
constexpr double root(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 64; ++i) y = (y + x / y) / 2;
  return y;
}

constexpr AnchorSize shaped_size(double side, double ratio) {
  return {static_cast<float>(side * root(ratio)), static_cast<float>(side / root(ratio))};
}

constexpr std::array<AnchorSize, 33> tensorflow_anchors() {
  std::array<AnchorSize, 33> out{};
  size_t n = 0;
  out[n++] = shaped_size(0.1 * 300, 1);
  out[n++] = shaped_size(0.2 * 300, 2);
  out[n++] = shaped_size(0.2 * 300, 0.5);
  for (int k = 1; k < 6; ++k) {
    const double side = (0.2 + 0.15 * k) * 300, next = k == 5 ? 300 : (0.35 + 0.15 * k) * 300;
    for (const double ratio : {1.0, 2.0, 0.5, 3.0, 1 / 3.0}) out[n++] = shaped_size(side, ratio);
    out[n++] = shaped_size(root(side * next), 1);
  }
  return out;
}
constexpr auto kTensorflowAnchors = tensorflow_anchors();

/// No larger than the input, as torchvision's are.
template <size_t kCount>
constexpr std::array<AnchorSize, kCount> inside(std::array<AnchorSize, kCount> sizes, float side) {
  for (AnchorSize& size : sizes)
    size = {std::min(size.width, side), std::min(size.height, side)};
  return sizes;
}

constexpr std::array<AnchorSize, 30> ssd300_anchors() {
  constexpr double kSides[]{21, 45, 99, 153, 207, 261, 315};  // of 300
  constexpr int kRatiosOf[]{1, 2, 2, 2, 1, 1};
  std::array<AnchorSize, 30> out{};
  size_t n = 0;
  for (int k = 0; k < 6; ++k) {
    out[n++] = shaped_size(kSides[k], 1);
    out[n++] = shaped_size(root(kSides[k] * kSides[k + 1]), 1);
    for (int ratio = 2; ratio < 2 + kRatiosOf[k]; ++ratio) {
      out[n++] = shaped_size(kSides[k], ratio);
      out[n++] = shaped_size(kSides[k], 1.0 / ratio);
    }
  }
  return out;
}
constexpr auto kSsd300Anchors = inside(ssd300_anchors(), 300);

constexpr std::array<AnchorSize, 36> ssdlite_anchors() {
  std::array<AnchorSize, 36> out{};
  size_t n = 0;
  for (int k = 0; k < 6; ++k) {
    const double side = (0.2 + 0.15 * k) * 320, next = k == 5 ? 320 : (0.35 + 0.15 * k) * 320;
    out[n++] = shaped_size(side, 1);
    out[n++] = shaped_size(root(side * next), 1);
    for (const double ratio : {2.0, 3.0}) {
      out[n++] = shaped_size(side, ratio);
      out[n++] = shaped_size(side, 1 / ratio);
    }
  }
  return out;
}
constexpr auto kSsdliteAnchors = inside(ssdlite_anchors(), 320);

constexpr DetectorSpec ssd(std::string_view name, std::string_view summary, Activation activation,
                           bool box_yx) {
  DetectorSpec spec = split(name, summary, {}, {}, BoxCoding::kPriorDelta);
  spec.box_yx = box_yx;
  spec.units = Units::kNormalized;
  spec.box_scale = {0.1f, 0.1f, 0.2f, 0.2f};
  spec.activation = activation;
  spec.background = Background::kFirst;
  spec.cell_offset = 0.5f;
  spec.interleaved = true;
  return spec;
}

constexpr DetectorSpec with_anchors(DetectorSpec spec, AnchorRule anchors, Strides strides,
                                    std::array<uint8_t, kMostLevels> each) {
  spec.anchors = anchors;
  spec.interleaved = true;
  return with_strides(spec, strides, each);
}

constexpr float kTorchvisionDeltas = 4.135166556742356f;  // log(1000 / 16)

/// Sides grow no further than torchvision lets them.
constexpr DetectorSpec limited(DetectorSpec spec) {
  spec.delta_limit = kTorchvisionDeltas;
  return spec;
}

constexpr DetectorSpec retinanet() {
  DetectorSpec spec = with_anchors(
      split("retinanet",
            "RetinaNet of torchvision before its post-processing: deltas tx ty tw th and class "
            "logits, in one tensor each or one a level",
            {.plain = {"bbox_regression"}}, {.plain = {"cls_logits"}}, BoxCoding::kPriorDelta),
      {.base = 4, .scales = kThirds, .ratios = kSquareRatios, .scales_inner = true, .whole = true},
      kFive, {9});
  // torchvision's ratio is height by width, 0.5 first.
  spec.units = Units::kNormalized;
  spec.activation = Activation::kSigmoid;
  return limited(labelled(spec));
}

constexpr DetectorSpec efficientdet() {
  DetectorSpec spec = with_anchors(
      split("efficientdet",
            "EfficientDet before its post-processing: deltas ty tx th tw and class logits, in one "
            "tensor each or one a level",
            {}, {}, BoxCoding::kPriorDelta),
      {.base = 4, .scales = kThirds, .ratios = kRatios}, kFive, {9});
  spec.box_yx = true;
  spec.units = Units::kNormalized;
  spec.cell_offset = 0.5f;
  spec.activation = Activation::kSigmoid;
  return labelled(spec);
}

// ---- Faces, palms, points

constexpr TensorRule points(uint16_t channels, Ids ids = {}, Plain plain = {}) {
  return {.role = Role::kKeypoints, .optional = true, .ids = ids, .plain = plain,
          .channels = channels};
}

constexpr DetectorSpec with_tensor(DetectorSpec spec, TensorRule rule) {
  spec.tensors[spec.tensor_count++] = rule;
  return spec;
}

constexpr DetectorSpec scrfd() {
  DetectorSpec spec = with_strides(
      split("scrfd",
            "SCRFD: scores, distances left top right bottom and five points, one tensor each a level",
            {.ids = {"bbox_*"}}, {.ids = {"score_*"}, .channels = 1}, BoxCoding::kDistances),
      kThree, {2});
  spec.interleaved = true;
  return with_tensor(spec, points(10, {"kps_*"}));
}

constexpr DetectorSpec retinaface(std::string_view name, std::string_view summary,
                                  Activation activation) {
  DetectorSpec spec = ssd(name, summary, activation, false);
  spec.tensors[0].plain = {"loc"};
  spec.tensors[1].plain = {"conf"};
  spec.tensors[1].channels = 2;
  return with_tensor(with_anchors(spec, {.sizes = kRetinaFaceAnchors}, kThree, {2}),
                     points(10, {}, {"landms"}));
}

constexpr DetectorSpec yunet() {
  DetectorSpec spec = with_strides(
      split("yunet",
            "YuNet (OpenCV's FaceDetectorYN): class, objectness, box and five points, one tensor each "
            "a level",
            {.ids = {"bbox_*"}}, {.ids = {"cls_*"}, .channels = 1}, BoxCoding::kGridExp),
      kThree);
  spec.score = ScoreRule::kGeometricMean;
  spec = with_tensor(spec, {.role = Role::kObjectness, .ids = {"obj_*"}, .channels = 1});
  return with_tensor(spec, points(10, {"kps_*"}));
}

/// Boxes of the whole input around cells, with points behind them.
constexpr DetectorSpec mediapipe(std::string_view name, std::string_view summary,
                                 uint16_t channels, Strides strides,
                                 std::array<uint8_t, kMostLevels> anchors) {
  DetectorSpec spec = with_strides(
      split(name, summary, {.ids = {}, .channels = channels}, {.ids = {}, .channels = 1},
            BoxCoding::kGridPixels),
      strides, anchors);
  spec.cell_offset = 0.5f;
  spec.interleaved = true;
  spec.activation = Activation::kSigmoid;
  spec.logit_limit = 100;
  spec.payload = Payload::kKeypoints;
  spec.payload_count = static_cast<uint16_t>(channels - 4);
  spec.score_threshold = 0.5f;
  spec.iou_threshold = 0.3f;
  return spec;
}

/// Scores, sizes and offsets of cells, one map each.
constexpr DetectorSpec heatmap(std::string_view name, std::string_view summary, BoxCoding coding,
                               TensorRule sizes, TensorRule offsets, TensorRule scores) {
  sizes.role = Role::kSizes;
  offsets.role = Role::kBoxes;
  scores.role = Role::kScores;
  return {.name = name,
          .summary = summary,
          .reader = Reader::kSplit,
          .tensors = {{scores, sizes, offsets}},
          .tensor_count = 3,
          .columns = {.classes = 0},
          .coding = coding,
          .strides = {4}};
}

constexpr DetectorSpec centerface() {
  DetectorSpec spec = heatmap(
      "centerface", "CenterFace: maps of scores, sizes, offsets and five points",
      BoxCoding::kGridExp, {.channels = 2}, {.channels = 2}, {.channels = 1});
  spec.box_yx = true;
  spec.cell_offset = 0.5f;
  return with_tensor(spec, points(10));
}

constexpr DetectorSpec centernet() {
  DetectorSpec spec = heatmap(
      "centernet", "CenterNet: maps of class logits, sizes and offsets; peaks count, no NMS",
      BoxCoding::kGridSize, {.plain = {"wh"}, .channels = 2}, {.plain = {"reg"}, .channels = 2},
      {.plain = {"hm"}});
  spec.activation = Activation::kSigmoid;
  spec.peaks = true;
  spec.nms = NmsMethod::kNone;
  return labelled(spec);
}

constexpr DetectorSpec fcos() {
  DetectorSpec spec = with_strides(
      split("fcos",
            "FCOS of torchvision before its post-processing: class logits, centerness and distances "
            "in strides, in one tensor each or one a level",
            {.plain = {"bbox_regression"}}, {.plain = {"cls_logits"}}, BoxCoding::kDistances),
      kFive);
  spec.score = ScoreRule::kGeometricMean;
  spec.activation = Activation::kSigmoid;
  spec.anchors.whole = true;
  return labelled(with_tensor(
      spec, {.role = Role::kObjectness, .plain = {"bbox_ctrness"}, .channels = 1}));
}

// ---- Rows that the model sorted out

constexpr DetectorSpec ready_rows(std::string_view name, std::string_view summary, Ids ids = {}) {
  return {.name = name,
          .summary = summary,
          .reader = Reader::kReady,
          .tensors = {{{.ids = ids}}},
          .columns = {.score = 4, .class_id = 5},
          .coding = BoxCoding::kCorners,
          .nms = NmsMethod::kNone};
}

constexpr DetectorSpec in_columns(DetectorSpec spec, Columns columns) {
  spec.columns = columns;
  return spec;
}

constexpr DetectorSpec paddle_rows(std::string_view name, std::string_view summary) {
  DetectorSpec spec = ready_rows(name, summary, {"paddle-rows"});
  spec.tensors[1] = {.role = Role::kCount, .optional = true, .ids = {"paddle-count"}};
  spec.tensor_count = 2;
  spec.columns = {.box = 2, .score = 1, .class_id = 0};
  spec.units = Units::kPixels;
  return spec;
}

struct Outputs {
  TensorRule boxes, scores, classes, count;
};

constexpr DetectorSpec outputs(std::string_view name, std::string_view summary, Outputs of) {
  of.boxes.role = Role::kBoxes;
  of.scores.role = Role::kScores;
  of.classes.role = Role::kClasses;
  of.count.role = Role::kCount;
  return {.name = name,
          .summary = summary,
          .reader = Reader::kOutputs,
          .tensors = {{of.boxes, of.scores, of.classes, of.count}},
          .tensor_count = 4,
          .columns = {.score = 0, .class_id = 0},
          .coding = BoxCoding::kCorners,
          .nms = NmsMethod::kNone};
}

constexpr DetectorSpec without_count(DetectorSpec spec) {
  --spec.tensor_count;
  return spec;
}

constexpr DetectorSpec yx(DetectorSpec spec) {
  spec.box_yx = true;
  return spec;
}

constexpr DetectorSpec onnx_nms(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .reader = Reader::kIndices,
          .tensors = {{{.role = Role::kIndices, .plain = {"selected_indices"}, .channels = 3},
                       {.role = Role::kBoxes, .plain = {"boxes"}},
                       {.role = Role::kScores, .plain = {"scores"}}}},
          .tensor_count = 3,
          .columns = {.classes = 0},
          .coding = BoxCoding::kCorners,
          .nms = NmsMethod::kNone};
}

// ---- Changes to any of them

constexpr DetectorSpec by_table(DetectorSpec spec) {
  spec.priors = true;
  return spec;
}

constexpr DetectorSpec shaped(DetectorSpec spec) {
  spec.by_shape = true;
  return spec;
}

constexpr DetectorSpec with_units(DetectorSpec spec, Units units) {
  spec.units = units;
  return spec;
}

constexpr DetectorSpec with_payload(DetectorSpec spec, Payload payload, uint16_t count) {
  spec.payload = payload;
  spec.payload_count = count;
  return spec;
}

constexpr DetectorSpec suppressed(DetectorSpec spec, std::string_view contract) {
  spec.nms = NmsMethod::kGreedy;
  spec.contract = contract;
  return spec;
}

constexpr DetectorSpec with_xy_scales(DetectorSpec spec, std::array<float, kMostLevels> scales) {
  spec.xy_scales = scales;
  return spec;
}

constexpr DetectorSpec normalized_rows(std::string_view name, std::string_view summary) {
  DetectorSpec spec = with_units(class_planes(name, summary), Units::kNormalized);
  spec.strides = {};
  spec.nms = NmsMethod::kNone;
  return spec;
}

constexpr DetectorSpec kDetectors[] = {
    shaped(objectness_rows("yolov5", "YOLOv5: rows of cx cy w h, objectness, class scores", 3)),
    objectness_rows("yolov3", "YOLOv3 as Ultralytics exports it: rows as YOLOv5's", 3),
    one_class_by_objectness(objectness_rows(
        "yolov7", "YOLOv7: rows as YOLOv5's; of one class the objectness alone counts", 3)),
    objectness_rows("yolov6", "YOLOv6: rows as YOLOv5's, one anchor a cell", 1),
    shaped(yolox("yolox", "YOLOX as exported by default: rows whose boxes want grid and stride",
                 BoxCoding::kGridExp)),
    shaped(yolox("yolox-decoded", "YOLOX with decode_in_inference: rows of cx cy w h in pixels",
                 BoxCoding::kCenterSize)),
    shaped(class_planes("yolov8",
                        "YOLOv8: planes (or rows) of cx cy w h and class scores, no objectness",
                        {"yolo-v8-out"})),
    with_units(class_planes("yolov8-normalized", "YOLOv8 of older exports: coordinates in 0..1",
                            {"yolo-v8-out-normalized"}),
               Units::kNormalized),
    class_planes("yolov9", "YOLOv9: as YOLOv8"),
    class_planes("yolo11", "YOLO11: as YOLOv8"),
    class_planes("yolo12", "YOLO12: as YOLOv8"),
    with_payload(class_planes("yolov8-seg",
                              "YOLOv8 segmentation of any number of classes and mask coefficients: "
                              "its boxes, masks are not read",
                              {"yolo-v8-segmentation-out-detections",
                               "yolo-v8-segmentation-out-detections-normalized"}),
                 Payload::kMaskCoefficients, 32),
    with_payload(class_planes("yolov8-pose",
                              "YOLOv8 pose of any number of classes and keypoints: its boxes, "
                              "keypoints are not read",
                              {"yolo-v8-pose-out", "yolo-v8-pose-out-normalized"}),
                 Payload::kKeypoints, 51),
    shaped(ready_rows("yolov10", "YOLOv10: end-to-end rows of x1 y1 x2 y2, score, class; no NMS")),
    ready_rows("yolo26", "YOLO26 end to end: rows as YOLOv10's", {"yolo-26-end2end-out"}),
    suppressed(ready_rows("deepstream-yolo",
                          "Any YOLO as DeepStream-Yolo exports it: rows as YOLOv10's that want NMS"),
               "deepstream"),
    in_columns(ready_rows("yolov7-end2end",
                          "YOLOv7 with NMS inside: rows of image, x1 y1 x2 y2, class, score; no NMS"),
               {.box = 1, .score = 6, .class_id = 5, .image = 0}),
    in_columns(ready_rows("yolo-nas-flat",
                          "YOLO-NAS with NMS inside: rows of image, x1 y1 x2 y2, score, class; no NMS"),
               {.box = 1, .score = 5, .class_id = 6, .image = 0}),
    shaped(anchored_heads("yolov5-heads",
                          "YOLOv5 without its decoding layer: maps of three anchors a cell",
                          BoxCoding::kGridSigmoid, kYolov3Anchors)),
    shaped(anchored_heads("yolov3-heads", "YOLOv3 of Darknet: maps of three anchors a cell",
                          BoxCoding::kGridDarknet, kYolov3Anchors)),
    shaped(anchored_heads("yolov3-tiny-heads",
                          "YOLOv3-tiny of Darknet: two maps of three anchors a cell",
                          BoxCoding::kGridDarknet, kYolov3TinyAnchors, {16, 32})),
    shaped(with_xy_scales(anchored_heads("yolov4-heads",
                                         "YOLOv4 of Darknet: maps of three anchors a cell",
                                         BoxCoding::kGridDarknet, kYolov4Anchors),
                          {1.2f, 1.1f, 1.05f})),
    shaped(one_class_by_objectness(
        anchored_heads("yolov7-heads",
                       "YOLOv7 without its decoding layer: maps of three anchors a cell",
                       BoxCoding::kGridSigmoid, kYolov4Anchors))),
    shaped(binned_heads("yolov8-heads",
                        "YOLOv8, YOLO11 without their decoding layer: softmax over 16 bins of left top "
                        "right bottom and class logits, in one tensor a level or in one for all")),
    shaped(split_heads("yolov8-heads-split",
                       "The same with boxes and class logits in a tensor each",
                       Activation::kSigmoid)),
    shaped(with_tensor(split_heads("yolov8-rknn",
                                   "YOLOv8, YOLO11 as exported for Rockchip: bins, class scores and "
                                   "their sum in a tensor each a level",
                                   Activation::kNone),
                       {.role = Role::kUnread, .optional = true, .channels = 1})),
    shaped(with_units(split("yolov4",
                     "YOLOv4 of pytorch-YOLOv4: boxes x1 y1 x2 y2 in 0..1 and class scores",
                     {.plain = {"boxes"}}, {.plain = {"confs"}}, BoxCoding::kCorners),
               Units::kNormalized)),
    shaped(with_units(labelled(split("yolo-nas", "YOLO-NAS: boxes x1 y1 x2 y2 in pixels and class "
                                                 "scores",
                                     {}, {}, BoxCoding::kCorners)),
                      Units::kPixels)),
    with_units(labelled(split("ppyoloe",
                              "PP-YOLOE without its NMS: boxes x1 y1 x2 y2 in pixels and planes of "
                              "class scores",
                              {}, {}, BoxCoding::kCorners)),
               Units::kPixels),
    nanodet(),
    shaped(picodet()),
    shaped(detr(queries("detr", "DETR: boxes cx cy w h in 0..1 and class logits, \"no object\" last; no NMS",
                 {"pred_boxes"}, {"pred_logits", "logits"}))),
    shaped(queries("rt-detr", "RT-DETR before its post-processing: boxes cx cy w h in 0..1 and class logits; "
                       "no NMS",
            {"pred_boxes"}, {"pred_logits", "logits"})),
    queries("d-fine", "D-FINE and DEIM before their post-processing: as rt-detr", {"pred_boxes"},
            {"pred_logits", "logits"}),
    queries("rf-detr", "RF-DETR: as rt-detr", {"dets"}, {"labels"}),
    normalized_rows("rtdetr-ultralytics",
                    "RT-DETR of Ultralytics: rows of cx cy w h in 0..1 and class scores; no NMS"),
    shaped(by_table(with_anchors(
        ssd("ssd",
                            "SSD of TensorFlow before its post-processing: deltas ty tx th tw and "
                            "class logits with background first; the anchors of an input of 300, or "
                            "priors-file",
            Activation::kSigmoid, true),
        {.sizes = kTensorflowAnchors, .of_grid = true}, {16, 32, 64, 128, 256, 512}, {3, 6}))),
    by_table(ssd("ssd-softmax",
                 "SSD of torchvision and Caffe: deltas tx ty tw th and class logits with background "
                 "first, softmax over them; needs priors-file",
                 Activation::kSoftmax, false)),
    shaped(limited(labelled(with_anchors(
        ssd("ssd300", "SSD300 of torchvision: as ssd-softmax with its own anchors",
            Activation::kSoftmax, false),
        {.sizes = kSsd300Anchors}, {8, 16, 32, 64, 100, 300}, {4, 6, 6, 6, 4, 4})))),
    shaped(limited(labelled(with_anchors(ssd("ssdlite320", "SSDlite320 of torchvision: as ssd-softmax with its own "
                                            "anchors",
                              Activation::kSoftmax, false),
                          {.sizes = kSsdliteAnchors, .of_grid = true},
                          {16, 32, 64, 128, 160, 320}, {6})))),
    shaped(retinanet()),
    shaped(efficientdet()),
    shaped(fcos()),
    shaped(scrfd()),
    shaped(retinaface("retinaface",
                      "RetinaFace: deltas tx ty tw th, scores of background and face, five points",
                      Activation::kNone)),
    shaped(retinaface("retinaface-logits", "RetinaFace whose scores want softmax",
                      Activation::kSoftmax)),
    shaped(yunet()),
    shaped(mediapipe("blazeface",
                     "MediaPipe's short-range face detector (BlazeFace): 896 boxes around cells of an "
                     "input of 128",
                     16, {8, 16}, {2, 6})),
    shaped(mediapipe("blazeface-full",
                     "MediaPipe's full-range face detector: 2304 boxes around cells of an input of 192",
                     16, {4}, {1})),
    shaped(mediapipe("palm", "MediaPipe's palm detector: 2016 boxes around cells of an input of 192",
                     18, {8, 16}, {2, 6})),
    shaped(mediapipe("palm-256",
                     "MediaPipe's older palm detector: 2944 boxes around cells of an input of 256", 18,
                     {8, 16, 32}, {2, 2, 6})),
    shaped(mediapipe("pose-detector",
                     "MediaPipe's pose detector: 2254 boxes around cells of an input of 224", 12,
                     {8, 16, 32}, {2, 2, 6})),
    shaped(centerface()),
    shaped(centernet()),
    yx(with_units(outputs("ssd-postprocess",
                          "SSD after TensorFlow's post-processing: boxes y1 x1 y2 x2 in 0..1, scores, "
                          "classes and their count in one tensor each; no NMS",
                          {.boxes = {.ids = {"ssd-mobilenet-v1-variant-1-out-boxes",
                                             "Gst.Model.ObjectDetector.Boxes"},
                                     .plain = {"detection_boxes", "TFLite_Detection_PostProcess"}},
                           .scores = {.ids = {"ssd-mobilenet-v1-variant-1-out-scores",
                                              "Gst.Model.ObjectDetector.Scores"},
                                      .plain = {"detection_scores", "TFLite_Detection_PostProcess:2"}},
                           .classes = {.optional = true,
                                       .ids = {"ssd-mobilenet-v1-variant-1-out-classes",
                                               "Gst.Model.ObjectDetector.Classes"},
                                       .plain = {"detection_classes",
                                                 "TFLite_Detection_PostProcess:1"}},
                           .count = {.optional = true,
                                     .ids = {"generic-variant-1-out-count",
                                             "Gst.Model.ObjectDetector.NumDetections"},
                                     .plain = {"num_detections",
                                               "TFLite_Detection_PostProcess:3"}}}),
                  Units::kNormalized)),
    without_count(outputs(
        "detr-postprocess",
        "RT-DETR, D-FINE and the like after their post-processing: boxes x1 y1 x2 y2, "
        "scores and labels in one tensor each; no NMS",
        {.boxes = {.ids = {"detr-boxes"}, .plain = {"boxes"}},
         .scores = {.ids = {"detr-scores"}, .plain = {"scores"}},
         .classes = {.ids = {"detr-labels"}, .plain = {"labels"}}})),
    outputs("efficientnms",
            "Any model with TensorRT's EfficientNMS inside: boxes x1 y1 x2 y2, scores, classes and "
            "their count in one tensor each; no NMS",
            {.boxes = {.plain = {"det_boxes"}},
             .scores = {.plain = {"det_scores"}},
             .classes = {.plain = {"det_classes", "det_labels"}},
             .count = {.plain = {"num_dets", "num_det"}}}),
    outputs("batchednms",
            "Any model with TensorRT's BatchedNMS inside: as efficientnms",
            {.boxes = {.plain = {"nmsed_boxes"}},
             .scores = {.plain = {"nmsed_scores"}},
             .classes = {.plain = {"nmsed_classes"}},
             .count = {.plain = {"num_detections"}}}),
    yx(onnx_nms("onnx-nms",
                "Any model that ends in ONNX NonMaxSuppression: rows of image, class, box and what they "
                "point into, boxes y1 x1 y2 x2 and planes of scores; no NMS")),
    onnx_nms("onnx-nms-xy", "The same with boxes x1 y1 x2 y2, as PyTorch exports them"),
    with_units(in_columns(ready_rows("detection-output",
                                     "Any model with a DetectionOutput layer (OpenVINO, OpenCV, Caffe): "
                                     "rows of image, class, score, x1 y1 x2 y2 in 0..1; no NMS",
                                     {}),
                          {.box = 3, .score = 2, .class_id = 1, .image = 0}),
               Units::kNormalized),
    paddle_rows("paddle",
                "PaddleDetection with its own NMS: rows of class, score, x1 y1 x2 y2 in pixels, those "
                "of class -1 empty, and a count where there is one; no NMS"),
};

}  // namespace

std::span<const DetectorSpec> detectors() { return kDetectors; }

}  // namespace keepbox
