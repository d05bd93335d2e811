// SPDX-License-Identifier: LGPL-2.1-or-later
// NMS cases from the test suites of ONNX, ONNX Runtime and TensorFlow, and adversarial ones,
// for every contract that exists here.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/recorded.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using nlohmann::json;

float number(const json& value) {
  return value.is_string() ? std::nanf("") : static_cast<float>(value.get<double>());
}

/// The case's boxes as rows with that many classes of scores: row index = class * boxes + box.
std::vector<test::Row> rows_of(const json& boxes, const std::string& format,
                               const std::vector<std::vector<float>>& scores,
                               const json& classes) {
  std::vector<test::Row> rows;
  for (size_t c = 0; c < scores.size(); ++c) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      float v[4];
      for (size_t k = 0; k < 4; ++k) v[k] = number(boxes[i][k]);
      test::Row row{v[0], v[1], v[2], v[3], scores[c][i], static_cast<float>(c)};
      if (format.starts_with("y1x1y2x2")) row = {v[1], v[0], v[3], v[2], row.score, row.class_id};
      if (format.starts_with("cx"))
        row = {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2, row.score,
               row.class_id};
      if (classes.is_array()) row.class_id = classes[i].get<float>();
      rows.push_back(row);
    }
  }
  return rows;
}

/// Anchors that a method keeps, best first. Runs the kernels alone: no frame clips the boxes.
std::vector<uint32_t> kept_by(NmsMethod method, const json& each,
                              const std::vector<test::Row>& rows, const char* contract) {
  Settings settings = test::pixel_settings();
  settings.detector = "yolo26";  // set, for some scores are no probabilities
  settings.method = method;
  settings.contract = contract;
  settings.iou_threshold = number(each["iou_threshold"]);
  const json threshold = each.value("score_threshold", json());
  settings.score_threshold = threshold.is_null() ? -1e30f : number(threshold);
  const json limit = each.value("max_output", json());
  settings.max_detections =
      limit.is_null() || limit.get<double>() > 1e6 ? 1000000u : limit.get<uint32_t>();
  const test::Tensor tensor = test::rows(rows);
  const TensorView view = tensor.view();
  const auto plan = make_plan(settings, std::span(&view, 1));
  EXPECT_TRUE(plan) << plan.error().message();
  const Backend& backend = *find_backend("reference");
  std::vector<Candidate> candidates(rows.size());
  std::vector<uint32_t> indices(plan->rules.kept_capacity), out;
  Funnel funnel;
  candidates.resize(backend.decode(*plan, std::span(&view, 1), 0, {0, plan->layout.anchors},
                                   candidates, funnel));
  std::vector<Candidate> ordered(candidates.size());
  std::vector<SortSlot> slots(candidates.size());
  ordered.resize(backend.select(*plan, candidates, slots, ordered));
  std::vector<float> lanes(nms_lanes(*plan));
  std::vector<uint64_t> words(nms_words(*plan));
  indices.resize(backend.nms(*plan, ordered, indices, {lanes, words}));
  for (const uint32_t index : indices) out.push_back(key_anchor(ordered[index].key));
  return out;
}

/// Anchors that every exact method keeps by a contract.
std::vector<uint32_t> kept(const json& each, const std::vector<test::Row>& rows,
                           const char* contract) {
  const auto greedy = kept_by(NmsMethod::kGreedy, each, rows, contract);
  for (const NmsMethod method : {NmsMethod::kBitmask, NmsMethod::kSegmented})
    EXPECT_EQ(kept_by(method, each, rows, contract), greedy) << each["name"];
  return greedy;
}

std::vector<std::vector<float>> scores_of(const json& value) {
  std::vector<std::vector<float>> scores;
  if (!value.empty() && value[0].is_array())
    for (const json& row : value) scores.push_back(scores_of(row)[0]);
  else {
    scores.emplace_back();
    for (const json& each : value) scores[0].push_back(number(each));
  }
  return scores;
}

/// Contract names here for the semantics that the file names.
const std::map<std::string, const char*> kSemantics{
    {"onnx_exact(strict >, reorder, low-index ties)", "onnx"},
    {"torchvision_cpu(strict >, no reorder, stable sort)", "exact"},
    {"inclusive_>= (EfficientNMS, seed b CPU, mmcv nms_match/soft, ultralytics fast_nms)",
     "inclusive"},
    {"plus_one (Faster R-CNN seed a, YOLOX demo, SCRFD, RetinaFace)", "plus-one"},
    {"opencv NMSBoxes", "opencv"},
    {"strict > (ONNX/ORT, TF, OpenCV, ultralytics, INMS \"must exceed\", torchvision "
     "SSD/RetinaNet)", "exact"},
    {"inclusive >= (EfficientNMS, YOLOX, tensorRT_Pro, SCRFD, YuNet, DeepStream "
     "preclusterThreshold, nnstreamer SSD/v10)", "inclusive"},
    {"no contraction (CPU -ffp-contract=off, __fmul_rn/__fadd_rn)", "exact"},
};

unsigned check_semantics(const json& each) {
  unsigned checked = 0;
  if (!each.contains("expected_by_semantics") || each["boxes"].is_null()) return 0;
  const auto rows = rows_of(each["boxes"], each["box_format"], scores_of(each["scores"]),
                            each.value("classes", json()));
  for (const auto& [name, expected] : each["expected_by_semantics"].items()) {
    const auto found = kSemantics.find(name);
    if (found == kSemantics.end() || !expected.is_array()) continue;
    EXPECT_EQ(kept(each, rows, found->second), expected.get<std::vector<uint32_t>>())
        << each["name"] << " by " << found->second;
    ++checked;
  }
  return checked;
}

/// Cases of suites, whose result is per class (class-major) or plain.
unsigned check_suite(const json& each) {
  if (!each["expected_indices"].is_array()) return 0;
  const char* contract = each["name"].get<std::string>().starts_with("V1.") ? "tensorflow" : "onnx";
  const bool batched = !each["boxes"].empty() && each["boxes"][0].size() > 0 &&
                       each["boxes"][0][0].is_array();
  std::vector<std::vector<uint32_t>> want, got;
  const size_t images = batched ? each["boxes"].size() : 1;
  for (size_t image = 0; image < images; ++image) {
    const json& boxes = batched ? each["boxes"][image] : each["boxes"];
    const auto scores = scores_of(batched ? each["scores"][image] : each["scores"]);
    const auto rows = rows_of(boxes, each["box_format"], scores, json());
    const auto anchors = kept(each, rows, contract);
    for (uint32_t c = 0; c < scores.size(); ++c)
      for (const uint32_t anchor : anchors)
        if (anchor / boxes.size() == c)
          got.push_back({static_cast<uint32_t>(image), c,
                         static_cast<uint32_t>(anchor % boxes.size())});
  }
  for (const json& index : each["expected_indices"])
    want.push_back(index.is_array() ? index.get<std::vector<uint32_t>>()
                                    : std::vector<uint32_t>{0, 0, index.get<uint32_t>()});
  EXPECT_EQ(got, want) << each["name"];
  return 1;
}

TEST(Vectors, OfEveryContractHere) {
  if (!test::have_data()) GTEST_SKIP() << "no NMS vectors on this machine";
  const json vectors = test::read_json(test::data_folder() / "nms-vectors.json");
  unsigned suites = 0, semantics = 0;
  for (const json& each : vectors["cases"]) {
    suites += each.contains("expected_by_semantics") ? 0 : check_suite(each);
    semantics += check_semantics(each);
  }
  EXPECT_GE(suites, 20u);
  EXPECT_GE(semantics, 50u);
}

}  // namespace
}  // namespace keepbox
