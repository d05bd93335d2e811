// SPDX-License-Identifier: LGPL-2.1-or-later
// Named sets of rules: those of frameworks for suppression, and those of keypoints.
#include "core/model/contracts.h"

namespace keepbox {
namespace {

constexpr NmsContract kContracts[] = {
    {.name = "exact",
     .summary = "Score and IoU above their threshold; no pixel added; classes compared by id; "
                "for equal scores the first anchor first"},
    {.name = "onnx",
     .summary = "ONNX NonMaxSuppression: as exact, but corners in any order, max-detections per "
                "class",
     .reorder_corners = true,
     .per_class_limit = true},
    {.name = "tensorflow",
     .summary = "TensorFlow NonMaxSuppression: as exact, but corners in any order, soft-gaussian "
                "by e^(-IoU^2 / (2 sigma))",
     .reorder_corners = true,
     .soft_factor = 0.5f},
    {.name = "inclusive",
     .summary = "TensorRT EfficientNMS without its limit: a score or IoU equal to the threshold "
                "counts as above",
     .score_inclusive = true,
     .iou_inclusive = true,
     .reorder_corners = true},
    {.name = "plus-one",
     .summary = "Faster R-CNN, SCRFD, RetinaFace, except for the order of equal scores: a box is "
                "x2 - x1 + 1 pixels wide",
     .plus_one = true},
    {.name = "opencv",
     .summary = "OpenCV NMSBoxes: as exact, but boxes of zero area overlap each other",
     .empty_overlap = true},
    {.name = "torchvision",
     .summary = "torchvision.ops.nms, and batched_nms class by class: as exact"},
    {.name = "ultralytics",
     .summary = "Ultralytics: as exact, but classes 7680 pixels apart in float32, which rounds "
                "boxes and lets larger ones overlap another class; the best 30000; keypoints "
                "clipped to the frame; no boxes with an empty mask",
     .clip_keypoints = true,
     .drop_empty_masks = true,
     .class_offset = 7680,
     .max_candidates = 30000},
    {.name = "yolov7-onnx",
     .summary = "YOLOv7's export with NMS for ONNX Runtime: corners in any order, classes 640 "
                "pixels apart in float32",
     .reorder_corners = true,
     .class_offset = 640},
    {.name = "tflite",
     .summary = "TensorFlow Lite's detection post-processing without use_regular_nms: a score "
                "equal to the threshold counts as above; classes suppress each other",
     .score_inclusive = true,
     .class_agnostic = true},
    {.name = "deepstream",
     .summary = "DeepStream's NMS: as exact, but a score equal to the threshold counts as above",
     .score_inclusive = true},
    {.name = "efficientnms",
     .summary = "TensorRT EfficientNMS: as inclusive, with the best 5000 candidates",
     .score_inclusive = true,
     .iou_inclusive = true,
     .reorder_corners = true,
     .max_candidates = 5000},
    {.name = "tensorrt-pro",
     .summary = "tensorRT_Pro: a score equal to the threshold counts as above, nms-method=fast, "
                "for equal scores the last anchor first",
     .score_inclusive = true,
     .later_first = true,
     .method = NmsMethod::kFast},
    {.name = "faster-rcnn",
     .summary = "Faster R-CNN, RetinaFace, YOLOX's demo: as plus-one, for equal scores the last "
                "anchor first, like numpy's argsort()[::-1]",
     .plus_one = true,
     .later_first = true},
    {.name = "numpy",
     .summary = "NumPy code without the added pixel: as exact, for equal scores the last anchor "
                "first, like argsort()[::-1]",
     .later_first = true},
    {.name = "ultralytics-obb",
     .summary = "Ultralytics' oriented boxes: as ultralytics, but with ProbIoU, of which a value "
                "equal to the threshold counts as above, and nms-method=fast",
     .iou_inclusive = true,
     .class_offset = 7680,
     .max_candidates = 30000,
     .oriented = OrientedOverlap::kProbIou,
     .method = NmsMethod::kFast},
    {.name = "detectron2",
     .summary = "detectron2 and its nms_rotated: as exact, except for the rounding caused by "
                "class offsets"},
    {.name = "mmcv", .summary = "MMCV, MMRotate and their nms_rotated: as detectron2"},
    {.name = "mediapipe",
     .summary = "MediaPipe: a score equal to the threshold counts as above, nms-method=weighted",
     .score_inclusive = true,
     .method = NmsMethod::kWeighted},
};

}  // namespace

std::span<const NmsContract> contracts() { return kContracts; }

const NmsContract* find_contract(std::string_view name) {
  const auto* found = std::ranges::find(kContracts, name, &NmsContract::name);
  return found == std::end(kContracts) ? nullptr : found;
}

namespace {

// Nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles; left before right.
constexpr Edge kCoco17[]{{0, 1},  {0, 2},   {1, 3},   {2, 4},   {3, 5},   {4, 6},
                         {5, 6},  {5, 7},   {6, 8},   {7, 9},   {8, 10},  {5, 11},
                         {6, 12}, {11, 12}, {11, 13}, {12, 14}, {13, 15}, {14, 16}};
// Eyes, nose, corners of the mouth.
constexpr Edge kFace5[]{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {2, 4}, {3, 4}};
// Eyes, tip of the nose, mouth, ears.
constexpr Edge kFace6[]{{0, 2}, {0, 4}, {1, 2}, {1, 5}, {2, 3}};
// Wrist, bases of the index, middle, ring and little finger and of the thumb, and its joint.
constexpr Edge kPalm7[]{{0, 1}, {0, 4}, {0, 5}, {1, 2}, {2, 3}, {3, 4}, {5, 6}};
// Middle of the hips, a point on the circle around the body; likewise for the upper body.
constexpr Edge kBody4[]{{0, 1}, {2, 3}};

constexpr PointSet kSets[]{
    {"body-pose/coco-17", 17, kCoco17},        {"face-landmarks/5", 5, kFace5},
    {"face-landmarks/mediapipe-6", 6, kFace6}, {"hand-landmarks/palm-7", 7, kPalm7},
    {"body-pose/alignment-4", 4, kBody4},
};

}  // namespace

const PointSet* find_point_set(std::string_view name) {
  const auto* found = std::ranges::find(kSets, name, &PointSet::name);
  return found == std::end(kSets) ? nullptr : found;
}

}  // namespace keepbox
