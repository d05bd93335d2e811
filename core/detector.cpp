// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of model families.
#include "core/detector.h"

#include <algorithm>

namespace keepbox {
namespace {

using Ids = std::array<std::string_view, 4>;

constexpr std::array<uint16_t, 5> kYoloStrides{8, 16, 32};

constexpr DetectorSpec objectness_rows(std::string_view name, std::string_view summary,
                                       uint8_t anchors_per_cell) {
  return {.name = name,
          .summary = summary,
          .columns = {.objectness = 4, .classes = 5},
          .score = ScoreRule::kProduct,
          .strides = kYoloStrides,
          .anchors_per_cell = anchors_per_cell};
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
          .strides = kYoloStrides};
}

constexpr DetectorSpec ready_rows(std::string_view name, std::string_view summary, Ids ids = {}) {
  return {.name = name,
          .summary = summary,
          .reader = Reader::kReady,
          .tensors = {{{.ids = ids}}},
          .columns = {.score = 4, .class_id = 5},
          .coding = BoxCoding::kCorners,
          .nms = NmsMethod::kNone};
}

constexpr DetectorSpec paddle_rows(std::string_view name, std::string_view summary) {
  DetectorSpec spec = ready_rows(name, summary, {"paddle-rows"});
  spec.tensors[1] = {.role = Role::kCount, .optional = true, .ids = {"paddle-count"}};
  spec.tensor_count = 2;
  spec.columns = {.box = 2, .score = 1, .class_id = 0};
  spec.units = Units::kPixels;
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

constexpr DetectorSpec ssd(std::string_view name, std::string_view summary, Activation activation,
                           BoxCoding coding) {
  return {.name = name,
          .summary = summary,
          .reader = Reader::kSplit,
          .tensors = {{{.role = Role::kBoxes}, {.role = Role::kScores}}},
          .tensor_count = 2,
          .columns = {.classes = 0},
          .coding = coding,
          .units = Units::kNormalized,
          .box_scale = {0.1f, 0.1f, 0.2f, 0.2f},
          .activation = activation,
          .background = Background::kFirst,
          .priors = true};
}

constexpr DetectorSpec kDetectors[] = {
    shaped(objectness_rows("yolov5", "YOLOv5: rows of cx cy w h, objectness, class scores", 3)),
    objectness_rows("yolov3", "YOLOv3 as Ultralytics exports it: rows as YOLOv5's", 3),
    objectness_rows("yolov7", "YOLOv7: rows as YOLOv5's", 3),
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
    shaped(ssd("ssd",
               "SSD of TensorFlow before its post-processing: deltas ty tx th tw and class logits "
               "with background first; needs priors-file",
               Activation::kSigmoid, BoxCoding::kPriorDelta)),
    ssd("ssd-softmax",
        "SSD of torchvision and Caffe: deltas tx ty tw th and class logits with background "
        "first, softmax over them; needs priors-file",
        Activation::kSoftmax, BoxCoding::kPriorDeltaXY),
    {.name = "ssd-postprocess",
     .summary = "SSD after TensorFlow's post-processing: boxes y1 x1 y2 x2 in 0..1, scores, "
                "classes and their count in one tensor each; no NMS",
     .reader = Reader::kOutputs,
     .tensors = {{{.role = Role::kBoxes,
                   .ids = {"ssd-mobilenet-v1-variant-1-out-boxes",
                           "Gst.Model.ObjectDetector.Boxes"}},
                  {.role = Role::kScores,
                   .ids = {"ssd-mobilenet-v1-variant-1-out-scores",
                           "Gst.Model.ObjectDetector.Scores"}},
                  {.role = Role::kClasses,
                   .optional = true,
                   .ids = {"ssd-mobilenet-v1-variant-1-out-classes",
                           "Gst.Model.ObjectDetector.Classes"}},
                  {.role = Role::kCount,
                   .optional = true,
                   .ids = {"generic-variant-1-out-count",
                           "Gst.Model.ObjectDetector.NumDetections"}}}},
     .tensor_count = 4,
     .columns = {.score = 0, .class_id = 0},
     .coding = BoxCoding::kCornersYX,
     .units = Units::kNormalized,
     .nms = NmsMethod::kNone},
    {.name = "detr-postprocess",
     .summary = "RT-DETR, D-FINE and the like after their post-processing: boxes x1 y1 x2 y2, "
                "scores and labels in one tensor each; no NMS",
     .reader = Reader::kOutputs,
     .tensors = {{{.role = Role::kBoxes, .ids = {"detr-boxes"}, .plain = "boxes"},
                  {.role = Role::kScores, .ids = {"detr-scores"}, .plain = "scores"},
                  {.role = Role::kClasses, .ids = {"detr-labels"}, .plain = "labels"}}},
     .tensor_count = 3,
     .columns = {.score = 0, .class_id = 0},
     .coding = BoxCoding::kCorners,
     .nms = NmsMethod::kNone},
    paddle_rows("paddle",
                "PaddleDetection with its own NMS: rows of class, score, x1 y1 x2 y2 in pixels, those "
                "of class -1 empty, and a count where there is one; no NMS"),
};

}  // namespace

std::span<const DetectorSpec> detectors() { return kDetectors; }

const DetectorSpec* find_detector(std::string_view name) {
  const auto* found = std::ranges::find(kDetectors, name, &DetectorSpec::name);
  return found == std::end(kDetectors) ? nullptr : found;
}

}  // namespace keepbox
