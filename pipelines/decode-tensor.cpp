// SPDX-License-Identifier: LGPL-2.1-or-later
// decode-tensor: prints the boxes of a raw tensor file. Uses only core, without GStreamer.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/run/processor.h"

namespace {

constexpr const char* kUsage =
    "usage: decode-tensor FILE DIMS [DETECTOR [WIDTH HEIGHT [SCORE [IOU]]]]\n"
    "  FILE      raw float32 values, little endian\n"
    "  DIMS      dimensions such as 1,84,8400\n"
    "  DETECTOR  auto (the default) or a family such as yolov8\n"
    "  WIDTH..   size of the model input; 0 0 (the default) derives it\n"
    "  SCORE     score threshold (default: 0.25)\n"
    "  IOU       IoU threshold (default: 0.45)\n";

int complain(const keepbox::Error& error) {
  std::fprintf(stderr, "decode-tensor: %s\n", error.message().c_str());
  return 1;
}

template <class T>
void argument(int argc, char** argv, int index, T& value) {
  if (index < argc) std::from_chars(argv[index], argv[index] + std::strlen(argv[index]), value);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace keepbox;
  if (argc < 3) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto shape = shape_from(argv[2]);
  if (!shape) return complain(shape.error());
  const TensorView tensor{.data = bytes.data(), .bytes = bytes.size(), .shape = *shape};

  Settings settings;
  if (argc > 3) settings.detector = argv[3];
  argument(argc, argv, 4, settings.model.width);
  argument(argc, argv, 5, settings.model.height);
  argument(argc, argv, 6, settings.score_threshold);
  argument(argc, argv, 7, settings.iou_threshold);

  auto plan = make_plan(settings, std::span(&tensor, 1));
  if (!plan) return complain(plan.error());
  auto backend = select_backend("auto", *plan, tensor.space);
  if (!backend) return complain(backend.error());
  auto processor = Processor::create(std::move(*plan), std::move(*backend));
  if (!processor) return complain(processor.error());
  if (const auto status = processor->run(std::span(&tensor, 1)); !status)
    return complain(status.error());

  std::printf("# %s\n# class score x1 y1 x2 y2 anchor\n", processor->plan().remark.c_str());
  for (const Detection& d : processor->detections())
    std::printf("%u %.6f %.4f %.4f %.4f %.4f %u\n", d.class_id, d.score, d.box.x1, d.box.y1,
                d.box.x2, d.box.y2, d.anchor);
  return 0;
}
