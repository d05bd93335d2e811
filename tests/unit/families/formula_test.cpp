// SPDX-License-Identifier: LGPL-2.1-or-later
// Every family of the table, compared with its published formula in float64, on every backend.
#include "tests/unit/families/formula.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/model/detector.h"
#include "tests/recorded.h"

namespace keepbox {
namespace {

using test::Corners;
using test::Frame;
using test::Truth;

/// Clips to the input, like boxes on a frame; nothing if the box is outside.
std::optional<Corners> on_frame(const Corners& box, Size size) {
  const double w = size.width, h = size.height;
  const Corners out{std::clamp(box[0], 0.0, w), std::clamp(box[1], 0.0, h),
                    std::clamp(box[2], 0.0, w), std::clamp(box[3], 0.0, h)};
  return out[0] < out[2] && out[1] < out[3] ? std::optional(out) : std::nullopt;
}

using Key = std::pair<uint32_t, uint32_t>;  // anchor, class

struct Wanted {
  Corners box;
  double score, angle;
  std::vector<test::Point> points;
};

/// Returns an oriented box unclipped if its upright bounding box overlaps the frame.
std::optional<Corners> oriented_on_frame(const Corners& box, double angle, Size size) {
  const double w = (box[2] - box[0]) / 2, h = (box[3] - box[1]) / 2;
  const double c = std::abs(std::cos(angle)), s = std::abs(std::sin(angle));
  const double x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
  const Corners around{x - w * c - h * s, y - w * s - h * c, x + w * c + h * s, y + w * s + h * c};
  return on_frame(around, size) ? std::optional(box) : std::nullopt;
}

std::map<Key, Wanted> wanted(const Frame& frame) {
  std::map<Key, Wanted> out;
  const Size size = frame.settings.frame.size;
  for (const Truth& truth : frame.truths)
    if (const auto box = truth.angle ? oriented_on_frame(truth.box, *truth.angle, size)
                                     : on_frame(truth.box, size))
      out[{truth.anchor, truth.class_id}] = {*box, truth.score, truth.angle.value_or(0),
                                             truth.points};
  return out;
}

/// Returns nothing if this machine cannot run the backend.
std::optional<Processor> processor_on(const Backend& backend, const Frame& frame,
                                      const std::vector<TensorView>& views) {
  const auto plan = make_plan(frame.settings, views);
  EXPECT_TRUE(plan) << plan.error().message();
  if (!plan) return std::nullopt;
  EXPECT_EQ(plan->spec->name, frame.family);
  const auto chosen = select_backend(backend.name, *plan, MemorySpace::kSystem);
  const bool device = backend.memory != MemorySpace::kSystem;
  EXPECT_TRUE(chosen || device) << chosen.error().message();
  if (!chosen) return std::nullopt;
  auto processor = Processor::create(*plan, *chosen);
  EXPECT_TRUE(processor || device) << processor.error().message();
  return processor ? std::optional(std::move(*processor)) : std::nullopt;
}

/// Compares keypoints, which may be absent.
void check_points(std::span<const Keypoint> found, const std::vector<test::Point>& want,
                  double within) {
  ASSERT_EQ(found.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(found[i].x, want[i].x, within) << i;
    EXPECT_NEAR(found[i].y, want[i].y, within) << i;
    EXPECT_NEAR(found[i].score, want[i].score, 1e-5) << i;
  }
}

/// @return true if it ran.
bool check(const Backend& backend, const Frame& frame) {
  SCOPED_TRACE(frame.family + " " + frame.form + " on " + std::string(backend.name));
  std::vector<TensorView> views, read;
  for (const test::Tensor& tensor : frame.tensors) views.push_back(tensor.view());
  auto processor = processor_on(backend, frame, views);
  if (!processor) return false;
  for (const uint32_t i : processor->plan().reads) read.push_back(views[i]);
  const Status status = processor->run(read);
  EXPECT_TRUE(status) << status.error().message();
  std::map<Key, Wanted> left = wanted(frame);
  EXPECT_GE(left.size(), 5u);
  const Size size = frame.settings.frame.size;
  const double within = 1e-3 * std::max(1.0, std::max(size.width, size.height) / 640.0);
  size_t number = 0;
  const size_t points = processor->plan().payload.keypoints.count;
  for (const Detection& found : processor->detections()) {
    const auto its_points = processor->keypoints().subspan(number++ * points, points);
    const auto at = left.find({found.anchor, found.class_id});
    if (at == left.end()) {
      ADD_FAILURE() << "anchor " << found.anchor << " class " << found.class_id
                    << "  is not a box of the formula";
      continue;
    }
    const Wanted& want = at->second;
    EXPECT_NEAR(found.score, want.score, 1e-5) << found.anchor;
    EXPECT_NEAR(found.angle, want.angle, 1e-6) << found.anchor;
    EXPECT_NEAR(found.box.x1, want.box[0], within) << found.anchor;
    EXPECT_NEAR(found.box.y1, want.box[1], within) << found.anchor;
    EXPECT_NEAR(found.box.x2, want.box[2], within) << found.anchor;
    EXPECT_NEAR(found.box.y2, want.box[3], within) << found.anchor;
    if (points != 0) check_points(its_points, want.points, within);
    left.erase(at);
  }
  EXPECT_TRUE(left.empty()) << left.size() << " boxes were not found, the first of anchor "
                            << left.begin()->first.first;
  return true;
}

TEST(Formulas, MatchEveryFamilyOnEveryBackend) {
  std::set<std::string> families;
  std::map<std::string_view, unsigned> ran;
  unsigned frames = 0;
  test::each_frame([&](const Frame& frame) {
    ++frames;
    families.insert(frame.family);
    for (const Backend& backend : backends()) ran[backend.name] += check(backend, frame) ? 1 : 0;
  });
  for (const DetectorSpec& spec : detectors())
    EXPECT_TRUE(families.erase(std::string(spec.name)) == 1) << spec.name << " has no formula";
  EXPECT_TRUE(families.empty()) << *families.begin() << "  is not a family";
  EXPECT_EQ(ran["reference"], frames);
  for (const auto& [name, count] : ran) {
    EXPECT_TRUE(count == frames || count == 0) << name << " ran " << count << " of " << frames;
    RecordProperty(std::string(name), static_cast<int>(count));
  }
}

/// Compares the priors of a plan with those of the model's code, in fractions of the input.
void expect_priors(const test::Model& model, Size input) {
  test::Form form = model.forms[0];
  form.input = input;
  const Frame frame = test::make_frame(model, form, 1);
  std::vector<TensorView> views;
  for (const test::Tensor& tensor : frame.tensors) views.push_back(tensor.view());
  const auto plan = make_plan(frame.settings, views);
  ASSERT_TRUE(plan) << model.family << ": " << plan.error().message();
  const auto at = test::places(model, form);
  ASSERT_EQ(plan->priors.size(), at.size()) << model.family;
  const double w = input.width, h = input.height;
  for (size_t i = 0; i < at.size(); ++i) {
    const auto want = model.prior(at[i]);
    ASSERT_NEAR(plan->priors[i].cx, want[0] / w, 1e-6) << model.family << ' ' << i;
    ASSERT_NEAR(plan->priors[i].cy, want[1] / h, 1e-6) << model.family << ' ' << i;
    ASSERT_NEAR(plan->priors[i].width, want[2] / w, 1e-6) << model.family << ' ' << i;
    ASSERT_NEAR(plan->priors[i].height, want[3] / h, 1e-6) << model.family << ' ' << i;
  }
}

TEST(Formulas, UseTheAnchorsOfTheModelsCode) {
  for (const test::Model& model : test::models())
    if (model.prior)
      for (const test::Form& form : {model.forms[0], model.forms[1], model.forms.back()})
        expect_priors(model, form.input);
}

/// SSD MobileNet v2: cy, cx, h, w of 1917 anchors, one per line.
TEST(Formulas, UseTheAnchorsOfTensorFlow) {
  const auto path = test::data_folder() / "cases/openpibo-ssdmobilenetv2-0139/box_priors.txt";
  std::ifstream file(path);
  if (test::data_folder().empty() || !file) GTEST_SKIP() << "no anchors on this machine";
  std::array<std::vector<double>, 4> lists;
  for (auto& list : lists) {
    std::string line;
    std::getline(file, line);
    std::istringstream numbers(line);
    for (double number; numbers >> number;) list.push_back(number);
    ASSERT_EQ(list.size(), 1917u);
  }
  const auto models = test::anchor_models();
  const auto ssd = std::ranges::find(models, std::string_view("ssd"), &test::Model::family);
  const auto at = test::places(*ssd, ssd->forms[0]);
  ASSERT_EQ(at.size(), 1917u);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto prior = ssd->prior(at[i]);
    const double ours[4]{prior[1] / 300, prior[0] / 300, prior[3] / 300, prior[2] / 300};
    const double share = at[i].anchor == 4 ? 6e-4 : 1e-6;  // that model has 0.333 for one third
    for (size_t k = 0; k < 4; ++k)
      ASSERT_NEAR(ours[k], lists[k][i], share * std::max(1.0, lists[k][i])) << i << ' ' << k;
  }
}

}  // namespace
}  // namespace keepbox
