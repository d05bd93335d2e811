// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the command line.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {

const char* const kUsage =
    "usage: infer-bench [--model FILE] [--labels FILE] [--clip FILE.mp4] [--size WxH] [--frames "
    "N]\n"
    "                   [--streams 1,4,16] [--rounds N] [--warmup N] [--seconds N] [--json FILE]\n"
    "                   [--provider auto|cpu|cuda] [--rows NAME,...] [--infer 'PROPERTIES']\n"
    "                   [--queue N]\n"
    "Rows: gpu, gpu-queued (a queue between model and boxes), gpu-download (tensors decoded on "
    "the\n"
    "host), gpu-cudaupload, uploaded, cpu, cpu-queued, stock, stock-defaults, and with real-time\n"
    "sources of 30 frames/s gpu-paced, uploaded-paced, cpu-paced; if they are named, gpu-objects "
    "and\n"
    "cpu-objects, whose model is a classifier that runs on the eight shapes of drawn frames.\n"
    "--infer sets properties of tensorinfer, such as batch-size=1; --queue the number of frames "
    "in\n"
    "the queue of gpu-queued and cpu-queued (4).\n"
    "Without a clip frames are drawn; those of gpu are copied to CUDA memory beforehand.\n";

namespace {

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

/// Exits with the usage unless the text is an integer of at least 1.
int positive(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number > 0) return number;
  std::fprintf(stderr, "%sinfer-bench: expected an integer of at least 1, found %.*s\n", kUsage,
               static_cast<int>(text.size()), text.data());
  std::exit(2);
}

void take(Options& options, const std::string& name, const std::string& value) {
  std::map<std::string, std::string*> texts{
      {"--model", &options.model}, {"--labels", &options.labels},
      {"--clip", &options.clip},   {"--json", &options.json},
      {"--infer", &options.infer}, {"--provider", &options.provider}};
  std::map<std::string, int*> numbers{{"--frames", &options.frames},
                                      {"--rounds", &options.rounds},
                                      {"--warmup", &options.warmup},
                                      {"--seconds", &options.seconds},
                                      {"--queue", &options.queue}};
  if (texts.contains(name)) *texts[name] = value;
  else if (numbers.contains(name)) *numbers[name] = positive(value);
  else if (name == "--rows") options.rows = parts(value);
  else if (name == "--streams") {
    options.streams.clear();
    for (const std::string& part : parts(value)) options.streams.push_back(positive(part));
  } else if (const size_t cross = value.find('x'); name == "--size" && cross != std::string::npos) {
    options.width = positive(value.substr(0, cross));
    options.height = positive(value.substr(cross + 1));
  } else {
    std::fprintf(stderr, "%sinfer-bench: expected one of the options, found %s\n", kUsage,
                 name.c_str());
    std::exit(2);
  }
}

}  // namespace

Options parsed(int argc, char** argv) {
  Options options;
  const char* root = g_getenv("KEEPBOX_SOURCE");
  const std::string own = std::string(root != nullptr ? root : ".") + "/pipelines/models/shapes";
  options.model = own + ".onnx";
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help" || i + 1 == argc) {
      std::fputs(kUsage, name == "--help" ? stdout : stderr);
      std::exit(name == "--help" ? 0 : 2);
    }
    take(options, name, argv[i + 1]);
  }
  // onnxinference does not forward the tensor names of a model; rows are compared by them.
  if (options.labels.empty() && options.model == own + ".onnx") options.labels = own + ".labels";
  return options;
}

}  // namespace keepbox::test
