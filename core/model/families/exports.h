// SPDX-License-Identifier: LGPL-2.1-or-later
// Exports of the families.
#pragma once

#include <array>

#include "core/model/families/changes.h"

namespace keepbox::families {

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
