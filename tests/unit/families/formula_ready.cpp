// SPDX-License-Identifier: LGPL-2.1-or-later
// End-to-end rows: in one tensor, in one per value, or as indices.
#include <cstring>
#include <format>

#include "tests/unit/families/formula_rows.h"

namespace keepbox::test {
namespace {

struct Rows {
  const char* family;
  const char* order;
  bool fractions = false;
  const char* id = "";
};

void add_rows(std::vector<Frame>& out, const Rows& model) {
  unsigned seed = 500;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16})
    for (const bool flat : {false, true}) {
      Chance chance(seed++);
      std::vector<Found> rows = draw_rows(chance, 100);
      const size_t width = std::strlen(model.order);
      const Shape shape = flat ? Shape{100, width} : Shape{1, 100, width};
      Tensor tensor = table(rows, model.order, model.fractions, shape, type, model.id);
      out.push_back(frame_of(model.family,
                             std::format("{} {}", flat ? "flat" : "rows", to_string(type)), rows));
      out.back().tensors.push_back(std::move(tensor));
    }
}

/// YOLO26's oriented boxes: cx cy w h, score, class, angle.
void add_oriented(std::vector<Frame>& out) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    Chance chance(605);
    std::vector<Found> rows = draw_rows(chance, 100);
    std::vector<double> values;
    for (Found& row : rows) {
      const auto [x1, y1, x2, y2] = row.box;
      const double id = row.class_id;
      for (const double each :
           {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, row.score, id, between(chance, -4, 4)})
        values.push_back(each);
    }
    Tensor tensor = stored(values, {1, rows.size(), 7}, type);
    tensor.id = "yolo-26-obb-end2end-out";
    for (size_t i = 0; i < rows.size(); ++i) {
      const double* row = values.data() + i * 7;
      rows[i].box = centered(row[0], row[1], row[2], row[3]);
      rows[i].score = row[4];
      rows[i].angle = row[6];
    }
    out.push_back(frame_of("yolo26-obb", "rows " + std::string(to_string(type)), rows));
    for (Truth& truth : out.back().truths) truth.angle = rows[truth.anchor].angle;
    out.back().tensors.push_back(std::move(tensor));
  }
}

/// YOLO26's poses and masks: rows like YOLOv10's, then other values.
void add_longer(std::vector<Frame>& out, const char* family, const char* id, size_t more,
                size_t each) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    Chance chance(607);
    std::vector<Found> rows = draw_rows(chance, 100);
    std::vector<double> values;
    for (const Found& row : rows) {
      for (const char letter : std::string_view("xyXYsc"))
        values.push_back(number(row, letter, false));
      for (size_t i = 0; i < more; ++i) values.push_back(between(chance, 0, 1));
    }
    const size_t width = 6 + more;
    Tensor tensor = stored(values, {1, rows.size(), width}, type);
    tensor.id = id;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double* row = values.data() + i * width;
      rows[i].box = {row[0], row[1], row[2], row[3]};
      rows[i].score = row[4];
    }
    out.push_back(frame_of(family, "rows " + std::string(to_string(type)), rows));
    for (Truth& truth : out.back().truths)
      for (size_t i = 0; each != 0 && i < more; i += each) {
        const double* at = values.data() + truth.anchor * width + 6 + i;
        truth.points.push_back({at[0], at[1], at[2]});
      }
    out.back().tensors.push_back(std::move(tensor));
  }
}

/// OpenVINO's rows end at a row of image -1; the values after it are undefined.
void add_ended(std::vector<Frame>& out) {
  Chance chance(600);
  std::vector<Found> rows = draw_rows(chance, 40);
  Tensor tensor = table(rows, "icsxyXY", true, {1, 1, 40, 7}, DataType::kFloat32);
  tensor.values[15 * 7] = -1;
  rows.resize(15);
  out.push_back(frame_of("detection-output", "1x1x40x7, ended by an image of -1", rows));
  out.back().tensors.push_back(std::move(tensor));
}

/// Ultralytics' RT-DETR: cx cy w h in fractions, score, class.
void add_queries(std::vector<Frame>& out) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    Chance chance(608);
    std::vector<Found> rows = draw_rows(chance, 300);
    std::vector<double> values;
    for (const Found& row : rows) {
      const auto [x1, y1, x2, y2] = row.box;
      const double id = row.class_id;
      for (const double each : {(x1 + x2) / 2 / kInput.width, (y1 + y2) / 2 / kInput.height,
                                (x2 - x1) / kInput.width, (y2 - y1) / kInput.height, row.score, id})
        values.push_back(each);
    }
    Tensor tensor = stored(values, {1, rows.size(), 6}, type);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double* row = values.data() + i * 6;
      rows[i].box = centered(row[0] * kInput.width, row[1] * kInput.height, row[2] * kInput.width,
                             row[3] * kInput.height);
      rows[i].score = row[4];
    }
    out.push_back(
        frame_of("rtdetr-ultralytics-rows", "rows " + std::string(to_string(type)), rows));
    out.back().tensors.push_back(std::move(tensor));
  }
}

/// PaddleDetection's: empty rows have class -1, a count gives the rows per image.
void add_paddle(std::vector<Frame>& out) {
  for (const bool counted : {true, false}) {
    Chance chance(610);
    std::vector<Found> rows = draw_rows(chance, 40);
    Tensor tensor = table(rows, "csxyXY", false, {40, 6}, DataType::kFloat32, "paddle-rows");
    if (counted) rows.resize(12);
    else
      for (size_t i = 12; i < 40; ++i) tensor.values[i * 6] = -1, rows[i].score = 0;
    out.push_back(frame_of("paddle", counted ? "rows and count" : "rows of class -1", rows));
    out.back().tensors.push_back(std::move(tensor));
    if (counted)
      out.back().tensors.push_back(whole<int32_t>({12}, {1}, DataType::kInt32, "paddle-count"));
  }
}

struct Outputs {
  const char* family;
  const char* order;  // of boxes
  bool fractions;
  const char *boxes, *scores, *classes, *count;
};

void add_outputs(std::vector<Frame>& out, const Outputs& model) {
  for (const bool whole_classes : {false, true}) {
    Chance chance(620);
    std::vector<Found> rows = draw_rows(chance, 100);
    Frame frame{.family = ""};
    frame.tensors.push_back(table(rows, model.order, model.fractions, {1, 100, 4},
                                  whole_classes ? DataType::kFloat16 : DataType::kFloat32,
                                  model.boxes));
    frame.tensors.push_back(table(rows, "s", false, {1, 100}, DataType::kFloat32, model.scores));
    std::vector<int64_t> ids;
    for (const Found& row : rows) ids.push_back(row.class_id);
    frame.tensors.push_back(
        whole_classes ? whole(ids, {1, 100}, DataType::kInt64, model.classes)
                      : table(rows, "c", false, {1, 100}, DataType::kFloat32, model.classes));
    const bool counted = model.count != nullptr;
    if (counted) rows.resize(13);
    out.push_back(
        frame_of(model.family, whole_classes ? "float16 boxes, int64 classes" : "float32", rows));
    out.back().tensors = std::move(frame.tensors);
    if (counted)
      out.back().tensors.push_back(whole<int32_t>({13}, {1, 1}, DataType::kInt32, model.count));
  }
}

/// ONNX NonMaxSuppression: rows of image, class and box; the score is the class's of that box.
void add_indices(std::vector<Frame>& out, const char* family, const char* order) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
    Chance chance(640);
    std::vector<Found> rows = draw_rows(chance, 90);
    Frame frame = frame_of(family, std::string(to_string(type)), {});
    Tensor boxes = table(rows, order, false, {1, 90, 4}, type, "boxes");
    std::vector<double> scores(size_t{80} * 90);
    for (double& score : scores) score = between(chance, 0.25, 1);
    Tensor planes = stored(scores, {1, 80, 90}, type);
    planes.id = "scores";
    std::vector<int64_t> indices;
    for (uint32_t row = 0; row < kFilled; ++row) {
      const auto class_id = uint32_t(chance() % 80), box = uint32_t(chance() % 90);
      indices.insert(indices.end(), {0, class_id, box});
      frame.truths.push_back({row, class_id, scores[class_id * 90 + box], rows[box].box});
    }
    frame.tensors.push_back(whole(indices, {kFilled, 3}, DataType::kInt64, "selected_indices"));
    frame.tensors.push_back(std::move(boxes));
    frame.tensors.push_back(std::move(planes));
    out.push_back(std::move(frame));
  }
}

}  // namespace

std::vector<Frame> ready_frames() {
  std::vector<Frame> out;
  for (const Rows& model :
       {Rows{"yolov10", "xyXYsc"}, Rows{"yolo26", "xyXYsc", false, "yolo-26-end2end-out"},
        Rows{"deepstream-yolo", "xyXYsc"}, Rows{"yolov7-end2end", "ixyXYcs"},
        Rows{"yolo-nas-flat", "ixyXYsc"}, Rows{"class-score-rows", "icsxyXY"},
        Rows{"detection-output", "icsxyXY", true}})
    add_rows(out, model);
  add_oriented(out);
  add_queries(out);
  add_longer(out, "yolo26-pose", "yolo-26-pose-end2end-out", 51, 3);
  add_longer(out, "yolo26-seg", "yolo-26-segmentation-end2end-out-detections", 32, 0);
  add_ended(out);
  add_paddle(out);
  for (const Outputs& model :
       {Outputs{"ssd-postprocess", "yxYX", true, "detection_boxes", "detection_scores",
                "detection_classes", "num_detections"},
        Outputs{"ssd-postprocess", "yxYX", true, "ssd-mobilenet-v1-variant-1-out-boxes",
                "ssd-mobilenet-v1-variant-1-out-scores", "ssd-mobilenet-v1-variant-1-out-classes",
                "generic-variant-1-out-count"},
        Outputs{"detr-postprocess", "xyXY", false, "boxes", "scores", "labels", nullptr},
        Outputs{"detr-postprocess", "xyXY", false, "detr-boxes", "detr-scores", "detr-labels",
                nullptr},
        Outputs{"efficientnms", "xyXY", false, "det_boxes", "det_scores", "det_classes",
                "num_dets"},
        Outputs{"batchednms", "xyXY", false, "nmsed_boxes", "nmsed_scores", "nmsed_classes",
                "num_detections"}})
    add_outputs(out, model);
  add_indices(out, "onnx-nms", "yxYX");
  add_indices(out, "onnx-nms-xy", "xyXY");
  return out;
}

}  // namespace keepbox::test
