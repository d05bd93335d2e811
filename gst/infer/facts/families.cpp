// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognises exports of known projects by what their exporters write.
#include "gst/infer/facts/families.h"

#include <glib.h>

#include <algorithm>

#include "core/recognition/fit.h"

namespace keepbox {
namespace {

using Writer = ModelMetadata::Writer;

constexpr float kUltralyticsIou = 0.7f;  // as in its predict()
constexpr int64_t kMinGrid = 21;         // cells of the smallest input
constexpr int64_t kReadyColumns = 6;
constexpr int64_t kUnknown = -1;

enum class OutputLayout { kPlanes, kRows, kOther };

/// Returns the layout of boxes in an output 1xAxB: planes of 4 + classes + more by anchors, or
/// end-to-end rows of 6 + more. @param classes 0: unknown. @param more may be kUnknown.
OutputLayout output_layout_of(const ModelPort& port, int64_t classes, int64_t more, bool sorted) {
  const int64_t a = port.dims[1], b = port.dims[2];
  const bool six = more != kUnknown && b == kReadyColumns + more;
  if (sorted && (six || b < 0)) return OutputLayout::kRows;
  const bool known = classes > 0 && more != kUnknown;
  if (known && a == 4 + classes + more && !(six && b < kMinGrid)) return OutputLayout::kPlanes;
  if (six) return OutputLayout::kRows;
  if (sorted || (known && a > 0)) return OutputLayout::kOther;
  return a < 0 || b < 0 || a < b ? OutputLayout::kPlanes : OutputLayout::kOther;
}

/// Returns the first output of that rank.
std::optional<size_t> output_of_rank(const ModelClaims& claims, size_t rank) {
  const auto found = std::ranges::find(claims.outputs, rank,
                                       [](const ModelPort& port) { return port.dims.size(); });
  if (found == claims.outputs.end()) return std::nullopt;
  return static_cast<size_t>(found - claims.outputs.begin());
}

/// The id of an output, and the family that reads it; empty if there is none.
struct Known {
  std::string_view id, detector;
};
struct TaskIds {
  std::string_view task;
  Known planes, rows;
};
constexpr TaskIds kTasks[] = {
    {"detect", {"yolo-v8-out", "yolov8"}, {"yolo-26-end2end-out", "yolo26"}},
    {"segment",
     {"yolo-v8-segmentation-out-detections", "yolov8-seg"},
     {"yolo-26-segmentation-end2end-out-detections", "yolo26-seg"}},
    {"pose", {"yolo-v8-pose-out", "yolov8-pose"}, {"yolo-26-pose-end2end-out", "yolo26-pose"}},
    {"obb", {"yolo-v8-obb-out", "yolov8-obb"}, {"yolo-26-obb-end2end-out", "yolo26-obb"}},
};

/// Returns the number of values per anchor after its class scores.
int64_t more_of(const std::string& task, const ModelMetadata& metadata, const ModelPort* maps) {
  if (task == "pose") return metadata.keypoint_numbers == 0 ? kUnknown : metadata.keypoint_numbers;
  if (task == "segment") return maps != nullptr && maps->dims[1] > 0 ? maps->dims[1] : kUnknown;
  return task == "obb" ? 1 : 0;
}

bool is_rtdetr(const ModelMetadata& metadata) {
  g_autofree gchar* lower = g_ascii_strdown(metadata.description.c_str(), -1);
  const std::string_view text(lower);
  return metadata.head == "RTDETRDecoder" || text.contains("rtdetr") || text.contains("rt-detr");
}

void take_family(std::string_view name, KnownExport& out) {
  const DetectorSpec& spec = *find_detector(name);
  out.detector = spec.name;
  out.input = spec.input;
  out.units = spec.units == Units::kAuto ? Units::kPixels : spec.units;
}

/// Recognises RT-DETR as Ultralytics exports it: cx cy w h in 0..1, then class scores or, from 8.4
/// on, the best score and its class.
void take_rtdetr(const ModelPort& port, const ModelMetadata& metadata, KnownExport& out) {
  const auto classes = static_cast<int64_t>(metadata.labels.size());
  const bool rows = !metadata.head.empty() || metadata.sorted || port.dims[2] != 4 + classes;
  take_family(
      rows && port.dims[2] == kReadyColumns ? "rtdetr-ultralytics-rows" : "rtdetr-ultralytics",
      out);
  out.remarks.push_back("RT-DETR by its metadata");
}

void take_ultralytics(const ModelClaims& claims, const ModelMetadata& metadata, KnownExport& out) {
  out.why = "Ultralytics metadata";
  out.contract = "ultralytics";
  out.iou_threshold = kUltralyticsIou;
  const auto boxes = output_of_rank(claims, 3), maps = output_of_rank(claims, 4);
  const auto* task = std::ranges::find(kTasks, metadata.task, &TaskIds::task);
  if (task == std::end(kTasks) || !boxes) {
    out.remarks.push_back("task " + metadata.task + " has no boxes");
    out.warnings.push_back("task " + metadata.task + ", whose tensors hold no boxes");
    return;
  }
  out.units = Units::kPixels;
  if (metadata.task == "detect" && is_rtdetr(metadata))
    return take_rtdetr(claims.outputs[*boxes], metadata, out);
  const ModelPort* prototypes = maps ? &claims.outputs[*maps] : nullptr;
  const OutputLayout lie =
      output_layout_of(claims.outputs[*boxes], static_cast<int64_t>(metadata.labels.size()),
                       more_of(metadata.task, metadata, prototypes), metadata.sorted);
  const Known known = lie == OutputLayout::kPlanes ? task->planes
                      : lie == OutputLayout::kRows ? task->rows
                                                   : Known{};
  if (known.id.empty()) {
    out.remarks.push_back("output " + claims.outputs[*boxes].to_string() +
                          " is not a known output of task " + metadata.task);
    return;
  }
  out.outputs[*boxes] = {.id = std::string(known.id), .column_major = lie == OutputLayout::kPlanes};
  out.detector = known.detector;
  if (metadata.task == "segment" && maps) out.outputs[*maps].id = "yolo-v8-segmentation-out-protos";
}

/// Recognises exports of YOLOv5's repository and its derivatives: rows with objectness, or planes
/// as in YOLOv8.
void take_yolov5(const ModelClaims& claims, const ModelMetadata& metadata, KnownExport& out) {
  out.why = "YOLOv5 metadata";
  const auto boxes = output_of_rank(claims, 3);
  const auto classes = static_cast<int64_t>(metadata.labels.size());
  if (!boxes || classes == 0) return;
  const ModelPort& port = claims.outputs[*boxes];
  if (port.dims[2] == 5 + classes) {
    out.detector = "yolov5";
    out.units = Units::kPixels;
  } else if (port.dims[1] == 4 + classes) {
    out.outputs[*boxes] = {.id = "yolo-v8-out", .column_major = true};
    out.units = Units::kPixels;
  } else {
    out.remarks.push_back("output " + port.to_string() + " is not a known output for " +
                          counted(metadata.labels.size(), "class"));
  }
}

bool is_whole(const ModelPort& port) {
  return port.type == DataType::kInt64 || port.type == DataType::kInt32;
}

/// Recognises D-FINE, RT-DETR and related models: boxes in pixels of the size given as an input.
void take_detr(const ModelClaims& claims, KnownExport& out) {
  out.why = "its input orig_target_sizes, as in D-FINE and RT-DETR";
  out.input = find_detector("rt-detr")->input;
  size_t roles = 0;
  for (size_t i = 0; i < claims.outputs.size(); ++i) {
    const ModelPort& port = claims.outputs[i];
    const std::string_view id = port.name == "boxes" || port.dims.size() == 3    ? "detr-boxes"
                                : port.name == "labels" || is_whole(port)        ? "detr-labels"
                                : port.name == "scores" || port.dims.size() == 2 ? "detr-scores"
                                                                                 : "";
    const auto taken = std::ranges::find(out.outputs, id, &ModelFacts::Output::id);
    if (id.empty() || taken != out.outputs.end()) continue;
    out.outputs[i].id = id;
    ++roles;
  }
  if (roles != 3) {
    out.remarks.push_back("its outputs are not labels, boxes and scores");
    for (ModelFacts::Output& output : out.outputs) output.id.clear();
    return;
  }
  out.detector = "detr-postprocess";
  out.units = Units::kPixels;
}

/// Recognises PaddleDetection with its NMS: rows of class, score, x1 y1 x2 y2, and their number.
void take_paddle(const ModelClaims& claims, KnownExport& out) {
  out.why = "its input scale_factor, as in PaddleDetection";
  out.input = find_detector("paddle")->input;
  std::optional<size_t> rows, count;
  for (size_t i = 0; i < claims.outputs.size(); ++i) {
    const ModelPort& port = claims.outputs[i];
    if (!rows && port.dims.size() == 2 && port.dims[1] == 6) rows = i;
    else if (!count && port.dims.size() <= 1 && is_whole(port)) count = i;
  }
  if (!rows) {
    out.remarks.push_back("no output with rows of 6 values: export the model with its NMS");
    return;
  }
  out.outputs[*rows].id = "paddle-rows";
  if (count) out.outputs[*count].id = "paddle-count";
  out.detector = "paddle";
  out.units = Units::kPixels;
}

/// Returns the family of the table that has one of the ids.
const DetectorSpec* family_of_id(const std::vector<std::string>& given) {
  for (const DetectorSpec& spec : detectors())
    for (const TensorRule& rule : spec.rules())
      if (std::ranges::any_of(given, [&](const std::string& id) { return rule.has(id); }))
        return &spec;
  return nullptr;
}

void take_ids(const std::vector<std::string>& given, KnownExport& out) {
  const DetectorSpec* spec = family_of_id(given);
  if (spec == nullptr || !spec->input.known()) return;
  out.why = "the id of " + std::string(spec->name);
  out.input = spec->input;
  out.input.caveat = {};
  // GStreamer's scaler, used before the element with these ids, pads this way.
  const auto registered = [](const std::string& id) { return id.starts_with("yolo-"); };
  if (std::ranges::any_of(given, registered)) out.input.pad = 0;
}

}  // namespace

KnownExport know_export(const ModelClaims& claims, const ModelMetadata& metadata,
                        const ModelInputs& inputs, const std::vector<std::string>& given) {
  KnownExport out;
  out.outputs.resize(claims.outputs.size());
  if (inputs.wants(SizeInput::Kind::kWidthHeight)) take_detr(claims, out);
  else if (inputs.wants(SizeInput::Kind::kScale)) take_paddle(claims, out);
  else if (metadata.writer == Writer::kUltralytics) take_ultralytics(claims, metadata, out);
  else if (metadata.writer == Writer::kYolov5) take_yolov5(claims, metadata, out);
  else take_ids(given, out);
  return out;
}

bool tells_family(std::string_view id) {
  return id.ends_with("-normalized") ||
         std::ranges::any_of(detectors(), [&](const DetectorSpec& spec) {
           return std::ranges::any_of(spec.rules(),
                                      [&](const TensorRule& rule) { return rule.has(id); });
         });
}

}  // namespace keepbox
