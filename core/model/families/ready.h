// SPDX-License-Identifier: LGPL-2.1-or-later
// Families whose boxes are ready, and what exporters write into a model's metadata.
#pragma once

#include "core/model/families/yolo.h"

namespace keepbox::families {

// End-to-end rows.

constexpr DetectorSpec ready_rows(std::string_view name, std::string_view summary, Ids ids = {}) {
  return {.name = name,
          .summary = summary,
          .reader = Reader::kReady,
          .tensors = {{{.ids = ids}}},
          .columns = {.score = 4, .class_id = 5},
          .coding = BoxCoding::kCorners,
          .nms = NmsMethod::kNone,
          .input = kYoloInput};
}

/// Rows with centres and sizes in 0..1, like RT-DETR's queries.
constexpr DetectorSpec ready_queries(std::string_view name, std::string_view summary) {
  DetectorSpec spec = with_units(ready_rows(name, summary), Units::kNormalized);
  spec.coding = BoxCoding::kCenterSize;
  return with_input(spec, kStretchedInput);
}

constexpr DetectorSpec with_columns(DetectorSpec spec, Columns columns) {
  spec.columns = columns;
  return spec;
}

/// Rows that begin with the image in a batch.
constexpr DetectorSpec image_rows(std::string_view name, std::string_view summary,
                                  Columns columns) {
  DetectorSpec spec = with_columns(ready_rows(name, summary), columns);
  return with_shape_hint(spec, {.pattern = ValuePattern::kImageRows});
}

/// Adds a payload after the class.
constexpr DetectorSpec with_row_payload(DetectorSpec spec, Payload payload, uint16_t count) {
  spec.columns.payload = 6;
  return with_payload(spec, payload, count);
}

/// Oriented boxes with centres and sizes, and the angle last.
constexpr DetectorSpec oriented_rows(std::string_view name, std::string_view summary,
                                     Ids ids = {}) {
  DetectorSpec spec = with_payload(ready_rows(name, summary, ids), Payload::kAngle, 1);
  spec.columns.angle = 6;
  spec.coding = BoxCoding::kCenterSize;
  return spec;
}

/// PP-YOLOE, whose successor PP-YOLOE+ has the same tensors.
inline constexpr InputRule kPpyoloeInput{
    .deviation = kImageNetDeviation,
    .mean = kImageNetMean,
    .resize = ResizeMode::kStretch,
    .caveat = "for PP-YOLOE; PP-YOLOE+ needs input-mean=0 input-std=255"};

/// PaddleDetection: stretched. Files do not show whether the input is in 0..1.
inline constexpr InputRule kPaddleInput{
    .deviation = k255,
    .resize = ResizeMode::kStretch,
    .caveat =
        "0..1 is for PP-YOLOE+ and RT-DETR; PP-YOLOE, PicoDet and PP-YOLO need "
        "input-mean=123.675,116.28,103.53 input-std=58.395,57.12,57.375"};

constexpr DetectorSpec paddle_rows(std::string_view name, std::string_view summary) {
  DetectorSpec spec = ready_rows(name, summary, {"paddle-rows"});
  spec.tensors[1] = {.role = Role::kCount, .optional = true, .ids = {"paddle-count"}};
  spec.tensor_count = 2;
  spec.columns = {.box = 2, .score = 1, .class_id = 0};
  spec.units = Units::kPixels;
  return with_input(spec, kPaddleInput);
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

constexpr DetectorSpec with_yx_order(DetectorSpec spec) {
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

// Exports of the families.

constexpr Export ultralytics(std::string_view task, OutputForm form,
                             std::string_view maps_id = {}) {
  return {.exporter = Exporter::kUltralytics, .task = task, .form = form, .maps_id = maps_id};
}

constexpr Export ultralytics_rtdetr(OutputForm form) {
  Export out = ultralytics("detect", form);
  out.head = "RTDETRDecoder";
  out.words = {"rtdetr", "rt-detr"};
  out.why = "RT-DETR by its metadata";
  return out;
}

inline constexpr std::string_view kPrototypes = "yolo-v8-segmentation-out-protos";

inline constexpr Export kYolov5Exports[]{
    {.exporter = Exporter::kYolov5, .form = OutputForm::kRows}};
inline constexpr Export kYolov8Exports[]{
    ultralytics("detect", OutputForm::kPlanes),
    {.exporter = Exporter::kYolov5, .form = OutputForm::kPlanes, .names_family = false}};
inline constexpr Export kYolov8SegExports[]{
    ultralytics("segment", OutputForm::kPlanes, kPrototypes)};
inline constexpr Export kYolov8PoseExports[]{ultralytics("pose", OutputForm::kPlanes)};
inline constexpr Export kYolov8ObbExports[]{ultralytics("obb", OutputForm::kPlanes)};
inline constexpr Export kYolo26Exports[]{ultralytics("detect", OutputForm::kEndToEnd)};
inline constexpr Export kYolo26SegExports[]{
    ultralytics("segment", OutputForm::kEndToEnd, kPrototypes)};
inline constexpr Export kYolo26PoseExports[]{ultralytics("pose", OutputForm::kEndToEnd)};
inline constexpr Export kYolo26ObbExports[]{ultralytics("obb", OutputForm::kEndToEnd)};
inline constexpr Export kRtdetrExports[]{ultralytics_rtdetr(OutputForm::kRows)};
inline constexpr Export kRtdetrRowsExports[]{ultralytics_rtdetr(OutputForm::kEndToEnd)};

constexpr Export libre_yolo(std::string_view family, OutputForm form, const InputRule& input) {
  return {.exporter = Exporter::kLibreYolo,
          .task = "detect",
          .head = family,
          .form = form,
          .input = input};
}

/// LibreYOLO's YOLO9: R, G, B in 0..1 at the top left, unless the metadata has another place.
inline constexpr InputRule kLibreYoloInput{.deviation = k255,
                                           .resize = ResizeMode::kLetterboxTopLeft};
inline constexpr InputRule kLibreRtmdetInput{.deviation = kImageNetDeviation,
                                             .mean = kImageNetMean,
                                             .bgr = true,
                                             .resize = ResizeMode::kLetterboxTopLeft};
inline constexpr Export kLibreYoloExports[]{
    libre_yolo("yolo9", OutputForm::kPlanes, kLibreYoloInput),
    libre_yolo("yolo9_p2", OutputForm::kPlanes, kLibreYoloInput),
    libre_yolo("rtmdet", OutputForm::kRows, kLibreRtmdetInput),
    libre_yolo("picodet", OutputForm::kRows, kImageNetInput)};

inline constexpr Export kDetrExports[]{
    {.size_input = "orig_target_sizes",
     .why = "its input orig_target_sizes, as in D-FINE and RT-DETR",
     .outputs = {{{.role = Role::kBoxes, .name = "boxes", .rank = 3},
                  {.role = Role::kClasses, .name = "labels", .integer = true},
                  {.role = Role::kScores, .name = "scores", .rank = 2}}},
     .output_count = 3,
     .missing = "its outputs are not labels, boxes and scores",
     .input = kStretchedInput}};
inline constexpr Export kPaddleExports[]{
    {.size_input = "scale_factor",
     .why = "its input scale_factor, as in PaddleDetection",
     .outputs = {{{.role = Role::kAll, .rank = 2, .columns = 6},
                  {.role = Role::kCount, .rank = 1, .integer = true}}},
     .output_count = 2,
     .missing = "no output with rows of 6 values: export the model with its NMS"}};

constexpr DetectorSpec with_exports(DetectorSpec spec, std::span<const Export> exports) {
  spec.exports = exports;
  return spec;
}

}  // namespace keepbox::families
