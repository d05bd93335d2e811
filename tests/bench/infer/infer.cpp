// SPDX-License-Identifier: LGPL-2.1-or-later
// Times whole pipelines from frames to boxes, in rounds that alternate between the variants.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {
namespace {

constexpr int kKept = 64;  // frames in memory

struct Number {
  const char* key;
  double Figures::* member;
};
constexpr Number kNumbers[] = {{"frames", &Figures::frames},
                               {"frames_per_second", &Figures::frames_per_second},
                               {"p50_us", &Figures::p50},
                               {"p99_us", &Figures::p99},
                               {"mean_us", &Figures::mean},
                               {"input_us", &Figures::input},
                               {"model_us", &Figures::model},
                               {"before_us", &Figures::before},
                               {"infer_us", &Figures::infer},
                               {"boxdecode_us", &Figures::boxes_time},
                               {"overhead_us", &Figures::overhead},
                               {"cpu_ms", &Figures::cpu_ms},
                               {"processors", &Figures::processors},
                               {"gpu_percent", &Figures::gpu_percent},
                               {"boxes", &Figures::boxes},
                               {"zero_copy_frames", &Figures::zero_copy},
                               {"uploaded_frames", &Figures::uploaded},
                               {"downloaded_frames", &Figures::downloaded},
                               {"batch_size", &Figures::batch},
                               {"batch_fill", &Figures::fill},
                               {"late_frames", &Figures::late},
                               {"dropped_frames", &Figures::dropped},
                               {"first_late_ms", &Figures::first_late},
                               {"last_late_ms", &Figures::last_late}};

/// Returns the ONNX Runtime libraries of this process: with one, all variants run the same code.
std::set<std::string> runtimes() {
  std::set<std::string> out;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const size_t at = line.find('/');
        at != std::string::npos && line.find("/libonnxruntime.so") != std::string::npos)
      out.insert(line.substr(at));
  return out;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}
  int run();

 private:
  struct Case {
    Way way;
    int streams;
    std::vector<Figures> rounds;
    std::string why_not = {};
  };

  const Frames* frames_for(Case& each);
  void measure_round(Case& each);
  void measure_all(std::vector<Case>& cases);
  void report(const Case& each);
  void print_parts(const std::vector<Case>& cases) const;
  void print_comparison();
  bool failed(const Case& each) const;

  const Options& options_;
  std::expected<Frames, std::string> frames_, on_gpu_ = std::unexpected("");
  nlohmann::ordered_json json_;
};

const Frames* Bench::frames_for(Case& each) {
  static const Frames none;
  if (!each.way.source.empty()) return &none;
  if (!each.way.resident) return &*frames_;
  if (!on_gpu_ && on_gpu_.error().empty()) on_gpu_ = Frames::on_gpu(options_, *frames_);
  if (on_gpu_) return &*on_gpu_;
  each.why_not = on_gpu_.error();
  return nullptr;
}

void Bench::measure_round(Case& each) {
  if (!each.why_not.empty()) return;
  const Frames* frames = frames_for(each);
  if (frames == nullptr) return;
  const int count = each.way.paced ? static_cast<int>(options_.seconds * kFramesPerSecond)
                                   : std::max(1, options_.frames / options_.rounds);
  std::fprintf(stderr, "%s, %d streams, %d frames each\n", each.way.name.c_str(), each.streams,
               count);
  const Measured measured = measure(options_, each.way, *frames, each.streams, count);
  if (measured) each.rounds.push_back(*measured);
  else each.why_not = measured.error();
}

void Bench::measure_all(std::vector<Case>& cases) {
  for (Case& each : cases)
    if (const std::string element = missing(each.way); !element.empty())
      each.why_not = "no element " + element;
  for (const int streams : options_.streams)
    for (int round = 0; round < options_.rounds; ++round)
      for (Case& each : cases)
        if (each.streams == streams && !each.way.paced) measure_round(each);
  for (Case& each : cases)
    if (each.way.paced) measure_round(each);
}

void Bench::report(const Case& each) {
  nlohmann::ordered_json row{{"row", each.way.name}, {"streams", each.streams}};
  std::printf("%-15s %3d ", each.way.name.c_str(), each.streams);
  if (!each.why_not.empty()) {
    std::printf("skipped: %s\n", each.why_not.c_str());
    row["skipped"] = each.why_not;
    json_["rows"].push_back(row);
    return;
  }
  const Figures f = median(each.rounds);
  for (const auto& [key, member] : kNumbers) row[key] = f.*member;
  row["provider"] = f.provider;
  row["runtime"] = f.runtime;
  row["cuda_graph"] = f.graph;
  row["rounds"] = each.rounds.size();
  json_["rows"].push_back(row);
  std::printf("%8.1f %9.0f %9.0f %8.0f %8.0f %8.2f %6.2f %7.2f %5.0f/%.0f/%-5.0f %s%s",
              f.frames_per_second, f.p50, f.p99, f.model, f.overhead, f.cpu_ms, f.processors,
              f.boxes, f.zero_copy, f.uploaded, f.downloaded,
              f.provider.empty() ? "-" : f.provider.c_str(), f.graph ? "+graph" : "");
  if (f.batch > 1) std::printf(" batch %.0f, fill %.1f", f.batch, f.fill);
  if (f.gpu_percent >= 0) std::printf(" gpu %.0f %%", f.gpu_percent);
  if (each.way.paced)
    std::printf(" %.0f frames: %.0f late, %.0f dropped", f.frames + f.dropped, f.late, f.dropped);
  if (f.late > 0) std::printf(", from %.0f to %.0f ms", f.first_late, f.last_late);
  std::printf("\n");
}

void Bench::print_parts(const std::vector<Case>& cases) const {
  std::printf(
      "\nwhere a frame's time goes, us (infer: between the pads of the model's element)\n"
      "%-15s %3s %9s %9s %9s %9s %9s %9s %9s\n",
      "row", "n", "p50", "before", "infer", "input", "model", "boxdecode", "rest");
  for (const Case& each : cases) {
    if (!each.why_not.empty() || each.way.paced) continue;
    const Figures f = median(each.rounds);
    // on a GPU boxdecode waits for the model
    const double measured = each.way.cuda ? f.input + f.model : f.before + f.infer + f.boxes_time;
    std::printf("%-15s %3d %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f\n", each.way.name.c_str(),
                each.streams, f.p50, f.before, f.infer, f.input, f.model, f.boxes_time,
                f.p50 - measured);
  }
}

void Bench::print_comparison() {
  const nlohmann::ordered_json found = compare(options_, *frames_);
  json_["comparison"] = found;
  if (found.is_null()) return;
  std::printf("\nstock and tensorinfer: %s\n", found.dump().c_str());
}

/// Returns whether a row failed; rows with missing elements may be absent.
bool Bench::failed(const Case& each) const {
  if (each.why_not.empty() || each.why_not.starts_with("no element")) return false;
  return !each.way.cuda || options_.provider == "cuda";
}

int Bench::run() {
  frames_ = options_.clip.empty() ? Frames::drawn("NV12", options_.width, options_.height, kKept)
                                  : Frames::of_clip(options_, kKept);
  if (!frames_) {
    std::fprintf(stderr, "infer-bench: expected a clip of H.264, found: %s\n",
                 frames_.error().c_str());
    return 1;
  }
  const std::string input = fitted_caps(stock_input(options_));
  std::vector<Case> cases;
  const int most = std::ranges::max(options_.streams);
  for (const int streams : options_.streams)
    for (const Way& way : ways(options_, input))
      if (!way.paced || streams == most) cases.push_back({way, streams, {}});
  if (cases.empty()) {
    std::fprintf(stderr, "%sinfer-bench: expected names of these rows\n", kUsage);
    return 2;
  }
  measure_all(cases);
  json_ = {{"model", options_.model},
           {"clip", options_.clip},
           {"size", std::to_string(options_.width) + "x" + std::to_string(options_.height)},
           {"rows", nlohmann::ordered_json::array()}};
  std::printf("%-15s %3s %8s %9s %9s %8s %8s %8s %6s %7s %s\n", "row", "n", "frames/s", "p50 us",
              "p99 us", "model", "overhead", "CPU ms", "busy", "boxes", "zero-copy/up/down");
  for (const Case& each : cases) report(each);
  print_parts(cases);
  print_comparison();
  json_["onnxruntime"] = runtimes();
  for (const std::string& library : runtimes()) std::printf("%s\n", library.c_str());
  if (!options_.json.empty()) std::ofstream(options_.json) << json_.dump(1) << '\n';
  return std::ranges::any_of(cases, [&](const Case& each) { return failed(each); }) ? 1 : 0;
}

}  // namespace

Figures median(const std::vector<Figures>& rounds) {
  Figures out = rounds.back();
  for (const auto& [key, member] : kNumbers) {
    std::vector<double> values;
    for (const Figures& each : rounds) values.push_back(each.*member);
    std::ranges::sort(values);
    const size_t half = values.size() / 2;
    out.*member = values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
  }
  out.overhead = out.model > 0 ? out.p50 - out.model : 0;
  return out;
}

}  // namespace keepbox::test

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const keepbox::test::Options options = keepbox::test::parsed(argc, argv);
  return keepbox::test::Bench(options).run();
}
