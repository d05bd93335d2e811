// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes frames with every method of suppression, each in a function with its own name for
// callgrind, which dumps its count after each; prints the name of each.
// usage: methods BACKEND
#include <valgrind/callgrind.h>

#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/model/nms_methods.h"
#include "core/run/processor.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Row;

constexpr int kBoxes = 1500;

float score(std::mt19937& random) {
  return std::uniform_real_distribution<float>(0.3f, 0.99f)(random);
}

/// Boxes that do not touch each other.
std::vector<Row> apart(std::mt19937& random) {
  std::vector<Row> out;
  for (int i = 0; i < kBoxes; ++i) {
    const auto x = static_cast<float>(i % 40 * 16), y = static_cast<float>(i / 40 * 16);
    out.push_back({x, y, x + 8, y + 8, score(random), 0});
  }
  return out;
}

std::vector<Row> same(std::mt19937& random) {
  std::vector<Row> out;
  for (int i = 0; i < kBoxes; ++i) out.push_back({100, 100, 200, 200, score(random), 0});
  return out;
}

std::vector<Row> crowd(std::mt19937& random) {
  std::uniform_real_distribution<float> place(0, 580), size(5, 60);
  std::vector<Row> out;
  for (int i = 0; i < kBoxes; ++i) {
    const float x = place(random), y = place(random);
    out.push_back({x, y, x + size(random), y + size(random), score(random), 0});
  }
  return out;
}

/// Boxes that overlap only their neighbours.
std::vector<Row> chain(std::mt19937&) {
  std::vector<Row> out;
  for (int i = 0; i < kBoxes; ++i) {
    const float x = 0.4f * static_cast<float>(i), score = 0.9f - 4e-4f * static_cast<float>(i);
    out.push_back({x, 0, x + 1, 10, score, 0});
  }
  return out;
}

struct Input {
  const char* name;
  std::vector<Row> (*make)(std::mt19937& random);
  uint32_t class_top_k = 0;
};
constexpr Input kInputs[] = {
    {"apart", apart}, {"same", same}, {"crowd", crowd}, {"chain", chain}, {"full", apart, 1}};

/// Function counted by methods.py.
[[gnu::noinline]] bool counted_frame(Processor& processor, std::span<const TensorView> tensors) {
  return processor.run(tensors).has_value();
}

bool run(const Input& input, NmsMethod method, const Backend& backend) {
  std::mt19937 random(1);
  const test::Tensor boxes = test::rows(input.make(random));
  const TensorView view = boxes.view();
  Settings settings = test::pixel_settings();
  settings.nms_method = method;
  settings.max_detections = kBoxes;
  settings.class_top_k = input.class_top_k;
  const auto plan = make_plan(settings, {&view, 1});
  if (!plan) return false;
  auto processor = Processor::create(*plan, {&backend, ""});
  if (!processor || !processor->run({&view, 1}) || !counted_frame(*processor, {&view, 1}))
    return false;
  CALLGRIND_DUMP_STATS;
  return true;
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  const Backend* backend = argc == 2 ? find_backend(argv[1]) : nullptr;
  if (backend == nullptr) return 2;
  for (const NmsTraits& method : std::span(kNmsMethods).subspan(1))  // "auto" is first
    for (const Input& input : kInputs) {
      if (!run(input, method.method, *backend)) return 1;
      std::printf("%s %s\n", std::string(method.name).c_str(), input.name);
    }
}
