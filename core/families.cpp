// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of model families: what builds its rows stands in families/.
#include "core/families/points.h"
#include "core/families/ready.h"

namespace keepbox {
namespace {

using namespace families;

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
    anchored_heads("yolov3-tiny-heads", "YOLOv3-tiny of Darknet: two maps of three anchors a cell",
                   BoxCoding::kGridDarknet, kYolov3TinyAnchors, {16, 32}),
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
        {.sizes = kTensorflowAnchors, .input = 300, .of_grid = true}, {16, 32, 64, 128, 256, 512}, {3, 6}))),
    by_table(ssd("ssd-softmax",
                 "SSD of torchvision and Caffe: deltas tx ty tw th and class logits with background "
                 "first, softmax over them; needs priors-file",
                 Activation::kSoftmax, false)),
    shaped(limited(labelled(with_anchors(
        ssd("ssd300", "SSD300 of torchvision: as ssd-softmax with its own anchors",
            Activation::kSoftmax, false),
        {.sizes = kSsd300Anchors}, {8, 16, 32, 64, 100, 300}, {4, 6, 6, 6, 4, 4})))),
    shaped(limited(labelled(with_anchors(
        ssd("ssdlite320", "SSDlite320 of torchvision: as ssd-softmax with its own anchors",
            Activation::kSoftmax, false),
        {.sizes = kSsdliteAnchors, .of_grid = true}, {16, 32, 64, 128, 160, 320}, {6})))),
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
