// SPDX-License-Identifier: LGPL-2.1-or-later
// Whatever a file says: it is refused, or frames are decoded and nothing beyond their tensors is
// read (which AddressSanitizer sees).
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/layout.h"
#include "gst/decode/detectorfile.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

constexpr uint32_t kSide = 64;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// A family's file with some lines of others and some other numbers.
std::string changed(std::mt19937& random) {
  const auto any = [&]() -> const DetectorSpec& {
    return detectors()[random() % detectors().size()];
  };
  const char* const values[]{"0",  "1",           "2",       "3",     "4",    "5",       "8",
                             "16", "40",          "255",     "none",  "true", "8,16,32", "1,2,3",
                             "8",  "1x1,2x2,3x3", "outputs", "ready", "boxes"};
  auto lines = lines_of(print_detector(any()));
  for (size_t i = 2; i < lines.size(); ++i) {
    const size_t equals = lines[i].find('=');
    if (equals == std::string::npos) continue;
    if (random() % 8 == 0)
      lines[i] = lines[i].substr(0, equals + 1) + values[random() % std::size(values)];
    if (random() % 16 == 0) lines[i].clear();
  }
  const auto others = lines_of(print_detector(any()));
  for (int i = random() % 4; i > 0; --i) {
    const std::string& line = others[random() % others.size()];
    if (!line.starts_with('[')) lines.insert(lines.begin() + 1 + random() % 4, line);
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

Tensor filled(Shape shape, std::mt19937& random) {
  Tensor out{.values = std::vector<float>(shape.count().value_or(0)), .shape = shape};
  for (float& value : out.values) value = static_cast<float>(random() % 4096) / 1024 - 1;
  return out;
}

/// The numbers of an anchor that a rule's tensor may have.
size_t channels_for(const DetectorSpec& spec, const TensorRule& rule, std::mt19937& random) {
  if (rule.role == Role::kAll)
    return least_channels(spec) + (spec.reader == Reader::kReady ? 0 : random() % 3);
  const size_t exact = channels_of(spec, rule);
  return exact != 0 ? exact : 1 + random() % 3;
}

/// The tensors of a rule: one for all anchors, or maps of each level.
void add(std::vector<Tensor>& out, const DetectorSpec& spec, const TensorRule& rule, bool maps,
         std::mt19937& random) {
  const size_t grid = grid_anchors({kSide, kSide}, spec), anchors = grid != 0 ? grid : 20;
  const size_t channels = channels_for(spec, rule, random);
  switch (rule.role) {
    case Role::kCount:
      return out.push_back(filled({1}, random));
    case Role::kClasses:
      return out.push_back(filled({1, anchors}, random));
    case Role::kIndices:
      return out.push_back(filled({7, 3}, random));
    case Role::kScores:
      if (spec.reader == Reader::kOutputs) return out.push_back(filled({1, anchors}, random));
      break;
    default:
      break;
  }
  if (!maps) return out.push_back(filled({1, anchors, channels}, random));
  for (size_t level = 0; level < spec.level_count(); ++level) {
    const Size cells = level_cells({kSide, kSide}, spec.strides[level]);
    out.push_back(
        filled({1, channels * spec.anchors_of(level), cells.height, cells.width}, random));
  }
}

/// @return were there boxes or a decision that there are none?
bool decoded(const std::shared_ptr<const DetectorSpec>& family, bool maps, std::mt19937& random) {
  std::vector<Tensor> tensors;
  for (const TensorRule& rule : family->rules()) add(tensors, *family, rule, maps, random);
  std::vector<TensorView> views, read;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  Settings settings = test::pixel_settings(kSide);
  settings.family = family;
  auto plan = make_plan(settings, views);
  if (!plan) return false;
  for (const uint32_t number : plan->reads) read.push_back(views[number]);
  for (const char* name : {"reference", "simd"}) {
    auto backend = select_backend(name, *plan, MemorySpace::kSystem);
    if (!backend) continue;
    auto processor = Processor::create(*plan, std::move(*backend));
    EXPECT_TRUE(processor && processor->run(read)) << print_detector(*family);
  }
  return true;
}

TEST(DetectorFile, LeadsNowhereBeyondTheTensors) {
  size_t taken = 0, planned = 0;
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const auto file = read_detector(changed(random), "box.detector");
    if (!file) {
      EXPECT_TRUE(file.error().message().starts_with("box.detector:")) << file.error().message();
      continue;
    }
    ++taken;
    for (const bool maps : {false, true}) planned += decoded(file->family, maps, random) ? 1 : 0;
  }
  EXPECT_GT(taken, 300u);
  EXPECT_GT(planned, 200u);
}

}  // namespace
}  // namespace keepbox
