// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes one frame again and again, for an instruction counter to watch.
// usage: frame BACKEND planes|rows REPEATS
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "core/processor.h"
#include "tests/bench/scenes.h"

int main(int argc, char** argv) {
  using namespace keepbox;
  if (argc != 4) return 2;
  const bool planes = std::string_view(argv[2]) == "planes";
  std::mt19937 random(1);
  const test::Tensor tensor = test::scene(random, planes, planes ? 8400 : 25200, {});
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.detector = planes ? "yolov8" : "yolov5";
  const auto plan = make_plan(settings, std::span(&view, 1));
  const Backend* backend = find_backend(argv[1]);
  if (!plan || backend == nullptr) return 1;
  auto processor = Processor::create(*plan, {backend, ""});
  for (int i = std::atoi(argv[3]); i > 0; --i)
    if (!processor->run(std::span(&view, 1))) return 1;
  std::printf("%zu boxes\n", processor->detections().size());
  return 0;
}
