// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of model families; families/ has the functions that build its rows.

#include "core/model/families/anchored.h"
#include "core/model/families/ready.h"

namespace keepbox {
namespace {

using namespace families;

constexpr DetectorSpec kDetectors[] = {
    with_exports(
        with_shape_hint(recognised_by_shape(objectness_rows(
                            "yolov5", "YOLOv5: rows of cx cy w h, objectness, class scores", 3)),
                        {.listed = true,
                         .by_classes = TableForm::kRows,
                         .by_grid = TableForm::kRows,
                         .classes = kCocoClasses}),
        kYolov5Exports),
    objectness_rows("yolov3", "YOLOv3 as Ultralytics exports it: rows as YOLOv5's", 3),
    one_class_by_objectness(objectness_rows(
        "yolov7", "YOLOv7: rows as YOLOv5's; with one class the score is the objectness", 3)),
    with_shape_hint(objectness_rows("yolov6", "YOLOv6: rows as YOLOv5's, one anchor per cell", 1),
                    {.pattern = ValuePattern::kOnes, .cells = Cells::kGrid}),
    with_shape_hint(
        with_decoded_twin(
            recognised_by_shape(
                yolox("yolox", "YOLOX as exported by default: rows of boxes relative to grid cells",
                      BoxCoding::kGridExp)),
            "yolox-decoded"),
        {.listed = true,
         .pattern = ValuePattern::kGridOffsets,
         .cells = Cells::kGrid,
         .by_classes = TableForm::kRows,
         .classes = kCocoClasses}),
    recognised_by_shape(yolox("yolox-decoded",
                              "YOLOX with decode_in_inference: rows of cx cy w h in pixels",
                              BoxCoding::kCenterSize)),
    with_exports(with_shape_hint(recognised_by_shape(class_planes(
                                     "yolov8",
                                     "YOLOv8: planes (or rows) of cx cy w h and class scores, no "
                                     "objectness",
                                     {"yolo-v8-out"})),
                                 {.listed = true,
                                  .by_classes = TableForm::kAny,
                                  .by_grid = TableForm::kPlanes,
                                  .classes = kCocoClasses}),
                 kYolov8Exports),
    with_units(class_planes("yolov8-normalized", "YOLOv8, older exports: coordinates in 0..1",
                            {"yolo-v8-out-normalized"}),
               Units::kNormalized),
    with_exports(
        corner_planes("yolo-corners",
                      "LibreYOLO's YOLO9, RTMDet, PicoDet and others: planes (or rows) of x1 "
                      "y1 x2 y2 and class scores",
                      {"yolo-corners-out"}),
        kLibreYoloExports),
    class_planes("yolov9", "YOLOv9: as YOLOv8"),
    class_planes("yolo11", "YOLO11: as YOLOv8"),
    class_planes("yolo12", "YOLO12: as YOLOv8"),
    with_exports(
        with_shape_hint(
            with_payload(class_planes("yolov8-seg",
                                      "YOLOv8, YOLO11 segmentation: as yolov8, then mask "
                                      "coefficients; prototypes in a second tensor",
                                      {"yolo-v8-segmentation-out-detections",
                                       "yolo-v8-segmentation-out-detections-normalized"}),
                         Payload::kMaskCoefficients, 32),
            {.listed = true, .cells = Cells::kGrid, .classes = kCocoClasses, .prototypes = true}),
        kYolov8SegExports),
    with_exports(with_shape_hint(
                     with_payload(class_planes("yolov8-pose",
                                               "YOLOv8, YOLO11 pose: as yolov8, then any number of "
                                               "keypoints, x y and optionally a score each",
                                               {"yolo-v8-pose-out", "yolo-v8-pose-out-normalized"}),
                                  Payload::kKeypoints, 51),
                     {.listed = true, .classes = 1}),
                 kYolov8PoseExports),
    with_points(class_planes("yolov8-face", "YOLOv8 for faces: one class, then five landmarks"), 15,
                kFaceScores),
    with_points(objectness_rows("yolov7-face",
                                "YOLOv7 for faces: rows as YOLOv5's, then five landmarks", 3),
                15, kFaceScores),
    with_columns(with_points(objectness_rows("yolov5-face",
                                             "YOLOv5 for faces: as YOLOv5, with five landmarks "
                                             "before the class score",
                                             3),
                             10, kFace),
                 {.objectness = 4, .classes = 15, .payload = 5}),
    with_shape_hint(
        recognised_by_shape(
            ready_rows("yolov10", "YOLOv10: end-to-end rows of x1 y1 x2 y2, score, class; no NMS")),
        {.listed = true, .pattern = ValuePattern::kCorners, .max_rows = 1000}),
    with_exports(
        ready_rows("yolo26", "YOLO26, end-to-end: rows as YOLOv10's", {"yolo-26-end2end-out"}),
        kYolo26Exports),
    with_exports(with_row_payload(
                     ready_rows("yolo26-pose",
                                "YOLO26 pose, end-to-end: rows as YOLOv10's, then any number of "
                                "keypoints",
                                {"yolo-26-pose-end2end-out"}),
                     Payload::kKeypoints, 51),
                 kYolo26PoseExports),
    with_exports(
        with_row_payload(ready_rows("yolo26-seg",
                                    "YOLO26 segmentation, end-to-end: rows as YOLOv10's, then mask "
                                    "coefficients; prototypes in a second tensor",
                                    {"yolo-26-segmentation-end2end-out-detections"}),
                         Payload::kMaskCoefficients, 32),
        kYolo26SegExports),
    with_exports(
        with_shape_hint(
            oriented_planes("yolov8-obb",
                            "YOLOv8 for oriented boxes: planes of cx cy w h, class scores and an "
                            "angle",
                            {"yolo-v8-obb-out", "yolo-v8-obb-out-normalized"}),
            {.listed = true}),
        kYolov8ObbExports),
    oriented_planes("yolo11-obb",
                    "YOLO11, YOLO26 for oriented boxes, not end-to-end: as yolov8-obb"),
    with_exports(
        oriented_rows(
            "yolo26-obb",
            "YOLO26 for oriented boxes, end-to-end: rows of cx cy w h, score, class, angle; no "
            "NMS",
            {"yolo-26-obb-end2end-out"}),
        kYolo26ObbExports),
    with_input(
        with_nms(ready_rows("deepstream-yolo",
                            "Any YOLO as exported by DeepStream-Yolo: rows as YOLOv10's that "
                            "need NMS"),
                 "deepstream"),
        {}),
    image_rows("yolov7-end2end",
               "YOLOv7 with built-in NMS: rows of image, x1 y1 x2 y2, class, score; no NMS",
               {.box = 1, .score = 6, .class_id = 5, .image = 0}),
    with_input(
        image_rows("yolo-nas-flat",
                   "YOLO-NAS with built-in NMS: rows of image, x1 y1 x2 y2, score, class; no "
                   "NMS",
                   {.box = 1, .score = 5, .class_id = 6, .image = 0}),
        {}),
    with_input(
        image_rows("class-score-rows",
                   "YOLOX and others with NMS as in PINTO's model zoo: rows of image, class, "
                   "score, x1 y1 x2 y2; no NMS",
                   {.box = 3, .score = 2, .class_id = 1, .image = 0}),
        {}),
    recognised_by_shape(anchored_heads(
        "yolov5-heads", "YOLOv5 without its decoding layer: maps, three anchors per cell",
        BoxCoding::kGridSigmoid, kYolov3Anchors)),
    recognised_by_shape(
        with_input(anchored_heads("yolov3-heads", "YOLOv3 of Darknet: maps, three anchors per cell",
                                  BoxCoding::kGridDarknet, kYolov3Anchors),
                   kDarknetInput)),
    with_input(anchored_heads("yolov3-tiny-heads",
                              "YOLOv3-tiny of Darknet: two maps, three anchors per cell",
                              BoxCoding::kGridDarknet, kYolov3TinyAnchors, {16, 32}),
               kDarknetInput),
    recognised_by_shape(with_input(
        with_xy_scales(
            anchored_heads("yolov4-heads", "YOLOv4 of Darknet: maps, three anchors per cell",
                           BoxCoding::kGridDarknet, kYolov4Anchors),
            {1.2f, 1.1f, 1.05f}),
        kDarknetInput)),
    recognised_by_shape(one_class_by_objectness(anchored_heads(
        "yolov7-heads", "YOLOv7 without its decoding layer: maps, three anchors per cell",
        BoxCoding::kGridSigmoid, kYolov4Anchors))),
    recognised_by_shape(
        binned_heads("yolov8-heads",
                     "YOLOv8, YOLO11 without their decoding layer: left top right bottom as "
                     "softmax over 16 bins, and class logits, in one tensor or one per level")),
    recognised_by_shape(
        split_heads("yolov8-heads-split",
                    "YOLOv8, YOLO11 without their decoding layer: as yolov8-heads, with boxes "
                    "and class logits in separate tensors",
                    Activation::kSigmoid)),
    recognised_by_shape(
        with_tensor(split_heads("yolov8-rknn",
                                "YOLOv8, YOLO11 as exported for Rockchip: bins, class scores "
                                "and their sum, one tensor each per level",
                                Activation::kNone),
                    {.role = Role::kUnread, .optional = true, .channels = 1})),
    recognised_by_shape(with_input(
        with_units(split("yolov4",
                         "YOLOv4 of pytorch-YOLOv4: boxes x1 y1 x2 y2 in 0..1 and class "
                         "scores",
                         {.plain = {"boxes"}}, {.plain = {"confs"}}, BoxCoding::kCorners),
                   Units::kNormalized),
        kStretchedInput)),
    with_shape_hint(recognised_by_shape(with_units(
                        with_multi_label(split("yolo-nas",
                                               "YOLO-NAS: boxes x1 y1 x2 y2 in pixels and rows of "
                                               "class scores",
                                               {}, {}, BoxCoding::kCorners)),
                        Units::kPixels)),
                    {.scores = TableForm::kRows}),
    with_shape_hint(
        recognised_by_shape(with_input(
            with_units(with_multi_label(split("ppyoloe",
                                              "PP-YOLOE without its NMS: boxes x1 y1 x2 y2 in "
                                              "pixels and planes of class scores",
                                              {}, {}, BoxCoding::kCorners)),
                       Units::kPixels),
            kPpyoloeInput)),
        {.scores = TableForm::kPlanes}),
    nanodet_plus(),
    nanodet(),
    picodet(),
    ultraface(split("ultraface",
                    "UltraFace: boxes x1 y1 x2 y2 in 0..1, scores of background and face", {}, {},
                    BoxCoding::kCorners)),
    ultraface_raw(),
    recognised_by_shape(detr(queries(
        "detr", "DETR: boxes cx cy w h in 0..1 and class logits, \"no object\" last; no NMS",
        {"pred_boxes"}, {"pred_logits", "logits"}))),
    with_usual_classes(
        with_input(queries("conditional-detr",
                           "Conditional DETR, Deformable DETR: boxes cx cy w h in 0..1 and class "
                           "logits; no NMS",
                           {"pred_boxes"}, {"pred_logits", "logits"}),
                   kImageNetInput),
        91),
    recognised_by_shape(
        queries("rt-detr",
                "RT-DETR before its post-processing: boxes cx cy w h in 0..1 and class logits; "
                "no NMS",
                {"pred_boxes"}, {"pred_logits", "logits"})),
    queries("d-fine", "D-FINE and DEIM before their post-processing: as rt-detr", {"pred_boxes"},
            {"pred_logits", "logits"}),
    with_input(queries("rf-detr", "RF-DETR: as rt-detr", {"dets"}, {"labels"}), kImageNetInput),
    with_exports(with_shape_hint(
                     normalized_rows(
                         "rtdetr-ultralytics",
                         "RT-DETR of Ultralytics before 8.4: rows of cx cy w h in 0..1 and class "
                         "scores; no NMS"),
                     {.pattern = ValuePattern::kQueries, .cells = Cells::kNoGrid}),
                 kRtdetrExports),
    with_exports(with_shape_hint(
                     ready_queries(
                         "rtdetr-ultralytics-rows",
                         "RT-DETR of Ultralytics: rows of cx cy w h in 0..1, score, class; no NMS"),
                     {.pattern = ValuePattern::kQueryRows}),
                 kRtdetrRowsExports),
    recognised_by_shape(with_prior_table(
        with_anchors(ssd("ssd",
                         "SSD of TensorFlow before its post-processing: deltas ty tx th tw and "
                         "class logits with background first; anchors of a 300x300 input, or "
                         "priors-file",
                         Activation::kSigmoid, true),
                     {.sizes = kTensorflowAnchors, .input = 300, .of_grid = true},
                     {16, 32, 64, 128, 256, 512}, {3, 6}))),
    with_prior_table(ssd("ssd-softmax",
                         "SSD of torchvision and Caffe: deltas tx ty tw th and class logits with "
                         "background first, with softmax; needs priors-file",
                         Activation::kSoftmax, false)),
    recognised_by_shape(with_delta_limit(with_multi_label(
        with_anchors(ssd("ssd300", "SSD300 of torchvision: as ssd-softmax with its own anchors",
                         Activation::kSoftmax, false),
                     {.sizes = kSsd300Anchors, .clipped = true}, {8, 16, 32, 64, 100, 300},
                     {4, 6, 6, 6, 4, 4})))),
    recognised_by_shape(with_delta_limit(with_multi_label(with_anchors(
        ssd("ssdlite320", "SSDlite320 of torchvision: as ssd-softmax with its own anchors",
            Activation::kSoftmax, false),
        {.sizes = kSsdliteAnchors, .of_grid = true, .clipped = true}, {16, 32, 64, 128, 160, 320},
        {6})))),
    recognised_by_shape(retinanet()),
    recognised_by_shape(efficientdet()),
    recognised_by_shape(fcos()),
    recognised_by_shape(scrfd()),
    recognised_by_shape(retinaface(
        "retinaface", "RetinaFace: deltas tx ty tw th, scores of background and face, five points",
        Activation::kNone)),
    recognised_by_shape(retinaface("retinaface-logits",
                                   "RetinaFace: as retinaface, with logits for softmax",
                                   Activation::kSoftmax)),
    recognised_by_shape(retinaface_plates()),
    recognised_by_shape(yunet()),
    recognised_by_shape(
        mediapipe("blazeface",
                  "MediaPipe's short-range face detector (BlazeFace): 896 boxes relative to "
                  "cells of a 128x128 input",
                  16, "face-landmarks/mediapipe-6", {8, 16}, {2, 6})),
    recognised_by_shape(
        mediapipe("blazeface-back",
                  "MediaPipe's older face detector for back cameras: 896 boxes relative to "
                  "cells of a 256x256 input",
                  16, "face-landmarks/mediapipe-6", {16, 32}, {2, 6})),
    recognised_by_shape(
        mediapipe("blazeface-full",
                  "MediaPipe's full-range face detector: 2304 boxes relative to cells of a "
                  "192x192 input",
                  16, "face-landmarks/mediapipe-6", {4}, {1}, 0.6f)),
    recognised_by_shape(
        mediapipe("palm",
                  "MediaPipe's palm detector: 2016 boxes relative to cells of a 192x192 "
                  "input",
                  18, "hand-landmarks/palm-7", {8, 16}, {2, 6}, 0.5f, kMediapipeUnitInput)),
    recognised_by_shape(
        mediapipe("palm-256",
                  "MediaPipe's older palm detector: 2944 boxes relative to cells of a 256x256 "
                  "input",
                  18, "hand-landmarks/palm-7", {8, 16, 32}, {2, 2, 6}, 0.5f, kMediapipeUnitInput)),
    recognised_by_shape(
        mediapipe("pose-detector",
                  "MediaPipe's pose detector: 2254 boxes relative to cells of a 224x224 "
                  "input",
                  12, "body-pose/alignment-4", {8, 16, 32}, {2, 2, 6})),
    recognised_by_shape(centerface()),
    recognised_by_shape(centernet()),
    with_shape_hint(
        with_input(
            with_yx_order(with_units(
                outputs(
                    "ssd-postprocess",
                    "SSD after TensorFlow's post-processing: boxes y1 x1 y2 x2 in 0..1, "
                    "scores, classes and their count in one tensor each; no NMS",
                    {.boxes = {.ids = {"ssd-mobilenet-v1-variant-1-out-boxes",
                                       "Gst.Model.ObjectDetector.Boxes"},
                               .plain = {"detection_boxes", "TFLite_Detection_PostProcess"}},
                     .scores = {.ids = {"ssd-mobilenet-v1-variant-1-out-scores",
                                        "Gst.Model.ObjectDetector.Scores"},
                                .plain = {"detection_scores", "TFLite_Detection_PostProcess:2"}},
                     .classes = {.optional = true,
                                 .ids = {"ssd-mobilenet-v1-variant-1-out-classes",
                                         "Gst.Model.ObjectDetector.Classes"},
                                 .plain = {"detection_classes", "TFLite_Detection_PostProcess:1"}},
                     .count = {.optional = true,
                               .ids = {"generic-variant-1-out-count",
                                       "Gst.Model.ObjectDetector.NumDetections"},
                               .plain = {"num_detections", "TFLite_Detection_PostProcess:3"}}}),
                Units::kNormalized)),
            kSsdInput),
        {.pattern = ValuePattern::kCountedOutputs}),
    with_exports(
        with_shape_hint(
            without_count(outputs(
                "detr-postprocess",
                "RT-DETR, D-FINE and others after their post-processing: boxes x1 y1 x2 y2, "
                "scores and labels in one tensor each; no NMS",
                {.boxes = {.ids = {"detr-boxes"}, .plain = {"boxes"}},
                 .scores = {.ids = {"detr-scores"}, .plain = {"scores"}},
                 .classes = {.ids = {"detr-labels"}, .plain = {"labels"}}})),
            {.pattern = ValuePattern::kLabelledOutputs}),
        kDetrExports),
    outputs("efficientnms",
            "Any model with TensorRT's EfficientNMS: boxes x1 y1 x2 y2, scores, classes and "
            "their count in one tensor each; no NMS",
            {.boxes = {.plain = {"det_boxes"}},
             .scores = {.plain = {"det_scores"}},
             .classes = {.plain = {"det_classes", "det_labels"}},
             .count = {.plain = {"num_dets", "num_det"}}}),
    outputs("batchednms", "Any model with TensorRT's BatchedNMS: as efficientnms",
            {.boxes = {.plain = {"nmsed_boxes"}},
             .scores = {.plain = {"nmsed_scores"}},
             .classes = {.plain = {"nmsed_classes"}},
             .count = {.plain = {"num_detections"}}}),
    with_yx_order(
        onnx_nms("onnx-nms",
                 "Any model that ends in ONNX NonMaxSuppression: rows of image, class and box "
                 "index, with boxes y1 x1 y2 x2 and planes of scores; no NMS")),
    onnx_nms("onnx-nms-xy",
             "Any model that ends in ONNX NonMaxSuppression: as onnx-nms, with boxes x1 y1 x2 y2 "
             "as exported by PyTorch"),
    with_shape_hint(
        recognised_by_shape(with_input(
            with_units(with_columns(ready_rows("detection-output",
                                               "Any model with a DetectionOutput layer (OpenVINO, "
                                               "OpenCV, Caffe): rows of image, class, score, x1 "
                                               "y1 x2 y2 in 0..1; no NMS"),
                                    {.box = 3, .score = 2, .class_id = 1, .image = 0}),
                       Units::kNormalized),
            {})),
        {.rank = 4}),
    with_exports(
        paddle_rows(
            "paddle",
            "PaddleDetection with its own NMS: rows of class, score, x1 y1 x2 y2 in pixels, "
            "those of class -1 empty, and an optional count; no NMS"),
        kPaddleExports),
};

}  // namespace

std::span<const DetectorSpec> detectors() { return kDetectors; }

}  // namespace keepbox
