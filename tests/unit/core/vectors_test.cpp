// SPDX-License-Identifier: LGPL-2.1-or-later
// NMS cases from the tests of ONNX, ONNX Runtime and TensorFlow, and adversarial ones, for every
// contract and method.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/run/workspace.h"
#include "tests/boxlist.h"
#include "tests/recorded.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using nlohmann::json;

float number(const json& value) {
  return value.is_string() ? std::nanf("") : static_cast<float>(value.get<double>());
}

/// Returns the case's boxes as rows with that many classes of scores: row index = class * boxes +
/// box.
std::vector<test::Row> rows_of(const json& boxes, const std::string& format,
                               const std::vector<std::vector<float>>& scores, const json& classes) {
  std::vector<test::Row> rows;
  for (size_t c = 0; c < scores.size(); ++c) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      float v[4];
      for (size_t k = 0; k < 4; ++k) v[k] = number(boxes[i][k]);
      test::Row row{v[0], v[1], v[2], v[3], scores[c][i], static_cast<float>(c)};
      if (format.starts_with("y1x1y2x2")) row = {v[1], v[0], v[3], v[2], row.score, row.class_id};
      if (format.starts_with("cx"))
        row = {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2,
               v[1] + v[3] / 2, row.score,       row.class_id};
      if (classes.is_array()) row.class_id = classes[i].get<float>();
      rows.push_back(row);
    }
  }
  return rows;
}

/// Expects that suppression alone keeps the same rows, without a threshold if there is none.
void expect_suppressed(Settings settings, bool thresholded, const std::vector<test::Row>& rows,
                       const std::vector<uint32_t>& want) {
  const Settings defaults = suppression_defaults();
  if (!thresholded) settings.score_threshold = defaults.score_threshold;
  test::BoxTable table;
  for (const test::Row& row : rows)
    table.add({row.x1, row.y1, row.x2, row.y2}, row.score, static_cast<int64_t>(row.class_id));
  for (const Backend* backend : test::host_backends()) {
    const auto found = test::suppressed(settings, *backend, table);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->front(), std::vector<int64_t>(want.begin(), want.end())) << backend->name;
  }
}

/// Returns the anchors that a method keeps, best first. Runs only the kernels: no clipping.
std::vector<uint32_t> kept_by(NmsMethod method, const json& each,
                              const std::vector<test::Row>& rows, const char* contract) {
  Settings settings = test::pixel_settings();
  settings.detector = "yolo26";  // set because some scores are not probabilities
  settings.nms_method = method;
  settings.nms_contract = contract;
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
  candidates.resize(backend.kernels->decode(*plan, std::span(&view, 1), 0,
                                            {0, plan->layout.anchors}, candidates, funnel));
  std::vector<Candidate> ordered(candidates.size());
  std::vector<SortSlot> slots(candidates.size());
  ordered.resize(backend.kernels->select(*plan, candidates, slots, ordered));
  std::vector<float> lanes(nms_lanes(*plan));
  std::vector<uint64_t> words(nms_words(*plan));
  indices.resize(backend.kernels->nms(*plan, ordered, indices, {lanes, words}));
  for (const uint32_t index : indices)
    out.push_back(anchor_in_key(plan->rules.contract, key_anchor(ordered[index].key)));
  expect_suppressed(settings, !threshold.is_null(), rows, out);
  return out;
}

/// Returns the anchors that every exact method keeps by a contract.
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

/// Whole vectors of boxes are compared, also the last one. What was in memory behind its boxes must
/// not matter.
TEST(NmsVectors, HaveNoGarbageBehindTheLastBox) {
  const std::vector<test::Row> rows(5, test::Row{10, 10, 90, 90, 0.9f, 0});
  const test::Tensor tensor = test::rows(rows);
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.nms_method = NmsMethod::kGreedy;
  const auto plan = make_plan(settings, std::span(&view, 1));
  ASSERT_TRUE(plan) << plan.error().message();
  for (const Backend& backend : backends()) {
    if (backend.kernels == nullptr || std::string_view(backend.name) == "reference") continue;
    std::vector<Candidate> ordered(rows.size());
    std::vector<SortSlot> slots(rows.size());
    Funnel funnel;
    std::vector<Candidate> candidates(rows.size());
    candidates.resize(backend.kernels->decode(*plan, std::span(&view, 1), 0,
                                              {0, plan->layout.anchors}, candidates, funnel));
    ordered.resize(backend.kernels->select(*plan, candidates, slots, ordered));
    ASSERT_EQ(ordered.size(), 5u);
    const auto memory = Workspace::create(*plan);
    ASSERT_TRUE(memory);
    const std::span<float> lanes = memory->scratch().nms.lanes;
    std::ranges::fill(lanes, std::nanf(""));
    std::vector<uint32_t> kept(plan->rules.kept_capacity);
    EXPECT_EQ(backend.kernels->nms(*plan, ordered, kept, memory->scratch().nms), 1u);
    const size_t stride = lanes.size() / kBoxLanes;
    for (size_t array = 0; array < kBoxLanes; ++array)
      for (size_t i = 5; i < 8; ++i) EXPECT_EQ(lanes[array * stride + i], 0) << array << ' ' << i;
  }
}

/// A contract, and a method if it is not an exact one.
struct Dialect {
  const char* contract;
  NmsMethod method = NmsMethod::kGreedy;
};

/// Contracts for the semantics named in the file.
const std::multimap<std::string, Dialect> kSemantics = [] {
  constexpr NmsMethod kFast = NmsMethod::kFast;
  const std::pair<std::string, std::vector<Dialect>> all[] = {
      {"onnx_exact(strict >, reorder, low-index ties)", {{"onnx"}, {"tensorflow"}}},
      {"torchvision_cpu(strict >, no reorder, stable sort)", {{"exact"}, {"torchvision"}}},
      {"inclusive_>= (EfficientNMS, seed b CPU, mmcv nms_match/soft, ultralytics fast_nms)",
       {{"inclusive"}, {"efficientnms"}}},
      {"plus_one (Faster R-CNN seed a, YOLOX demo, SCRFD, RetinaFace)", {{"plus-one"}}},
      {"numpy argsort()[::-1] ties (higher index wins)", {{"numpy"}}},
      {"opencv NMSBoxes", {{"opencv"}}},
      {"tensorRT_Pro fast_nms (later slot wins ties)", {{"tensorrt-pro", kFast}}},
      {"YOLACT/ultralytics-OBB Fast NMS (triu, >=)", {{"inclusive", kFast}}},
      {"ultralytics class offset 7680", {{"ultralytics"}}},
      {"yolov7 ONNX end2end class offset 640", {{"yolov7-onnx"}}},
      {"strict > (ONNX/ORT, TF, OpenCV, ultralytics, INMS \"must exceed\", torchvision "
       "SSD/RetinaNet)",
       {{"exact"}, {"onnx"}, {"tensorflow"}, {"opencv"}, {"ultralytics"}, {"torchvision"}}},
      {"inclusive >= (EfficientNMS, YOLOX, tensorRT_Pro, SCRFD, YuNet, DeepStream "
       "preclusterThreshold, nnstreamer SSD/v10)",
       {{"inclusive"}, {"efficientnms"}, {"tensorrt-pro", kFast}, {"deepstream"}, {"tflite"}}},
      {"no contraction (CPU -ffp-contract=off, __fmul_rn/__fadd_rn)", {{"exact"}}},
  };
  std::multimap<std::string, Dialect> out;
  for (const auto& [name, dialects] : all)
    for (const Dialect& each : dialects) out.emplace(name, each);
  return out;
}();

/// Unsupported semantics, with reasons.
const std::set<std::string> kNowhere{
    "CV-CUDA (int16 xywh, any-better suppresses)",                      // integers
    "nnstreamer (int trunc, +1 in intersection only, class-agnostic)",  // integers
    "torchvision batched_nms coordinate trick",  // an offset of each frame's largest number
    "union contracted with FMA (nvcc default -fmad=true)",  // depends on the compiler
    // Boxes with NaN are dropped:
    "CUDA fmaxf/fminf ignore NaN in max/min but the area is NaN -> IoU NaN -> kept",
    "std::max/min depend on operand order",                                      // the same
    "argmax(cls) then *obj (tensorRT_Pro, DeepStream-Yolo, YOLOX, nnstreamer)",  // of families:
    "max(cls*obj) (ultralytics/yolov5, first max)",                              // check_argmax()
};

unsigned check_semantics(const json& each) {
  unsigned checked = 0;
  if (!each.contains("expected_by_semantics")) return 0;
  const bool boxes = !each["boxes"].is_null();
  const auto rows = !boxes ? std::vector<test::Row>()
                           : rows_of(each["boxes"], each["box_format"], scores_of(each["scores"]),
                                     each.value("classes", json()));
  for (const auto& [name, expected] : each["expected_by_semantics"].items()) {
    const auto [first, end] = kSemantics.equal_range(name);
    EXPECT_TRUE(first != end || kNowhere.contains(name)) << name << ", which is not listed";
    for (auto found = first; boxes && found != end; ++found, ++checked) {
      const auto [contract, method] = found->second;
      const auto want = expected.get<std::vector<uint32_t>>();
      EXPECT_EQ(method == NmsMethod::kGreedy ? kept(each, rows, contract)
                                             : kept_by(method, each, rows, contract),
                want)
          << each["name"] << " by " << contract;
    }
  }
  return checked;
}

/// Returns the class that a family chooses if a product makes two scores equal.
unsigned check_argmax(const json& each) {
  if (!each.contains("raw")) return 0;
  const std::pair<const char*, const char*> kFamilies[] = {
      {"yolox-decoded", "argmax(cls) then *obj (tensorRT_Pro, DeepStream-Yolo, YOLOX, nnstreamer)"},
      {"yolov5", "max(cls*obj) (ultralytics/yolov5, first max)"}};
  const json& raw = each["raw"];
  for (const auto& [family, name] : kFamilies) {
    test::Tensor tensor{.values = {50, 50, 20, 20, number(raw["objectness"])}, .shape = {1, 1, 7}};
    for (const json& score : raw["class_scores"]) tensor.values.push_back(number(score));
    Settings settings = test::pixel_settings();
    settings.detector = family;
    const auto found = test::detect(settings, {tensor.view()});
    EXPECT_TRUE(found && found->size() == 1) << family;
    if (!found || found->size() != 1) continue;
    EXPECT_EQ(found->front().class_id, each["expected_by_semantics"][name].get<uint32_t>());
  }
  return 1;
}

/// Checks that invalid thresholds are errors.
unsigned check_refused(const json& each) {
  const json& expected = each.value("expected_indices", json());
  if (!expected.is_string() || !expected.get<std::string>().contains("iou_threshold")) return 0;
  Settings settings = test::pixel_settings();
  settings.iou_threshold = number(each["iou_threshold"]);
  const test::Tensor tensor = test::rows({{0, 0, 1, 1, 0.9f, 0}});
  const TensorView view = tensor.view();
  EXPECT_FALSE(make_plan(settings, std::span(&view, 1))) << each["name"];
  return 1;
}

/// Checks cases of test suites, with results per class (class-major) or plain.
unsigned check_suite(const json& each) {
  if (!each["expected_indices"].is_array()) return 0;
  const char* contract = each["name"].get<std::string>().starts_with("V1.") ? "tensorflow" : "onnx";
  const bool batched =
      !each["boxes"].empty() && each["boxes"][0].size() > 0 && each["boxes"][0][0].is_array();
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
          got.push_back(
              {static_cast<uint32_t>(image), c, static_cast<uint32_t>(anchor % boxes.size())});
  }
  for (const json& index : each["expected_indices"])
    want.push_back(index.is_array() ? index.get<std::vector<uint32_t>>()
                                    : std::vector<uint32_t>{0, 0, index.get<uint32_t>()});
  EXPECT_EQ(got, want) << each["name"];
  return 1;
}

TEST(NmsVectors, MatchEveryContract) {
  if (!test::have_data()) GTEST_SKIP() << "no NMS vectors on this machine";
  const json vectors = test::read_json(test::data_folder() / "nms-vectors.json");
  unsigned suites = 0, semantics = 0, others = 0;
  for (const json& each : vectors["cases"]) {
    suites += each.contains("expected_by_semantics") ? 0 : check_suite(each);
    semantics += check_semantics(each);
    others += check_argmax(each) + check_refused(each);
  }
  EXPECT_GE(suites, 20u);
  EXPECT_GE(semantics, 139u);
  EXPECT_GE(others, 2u);
}

}  // namespace
}  // namespace keepbox
