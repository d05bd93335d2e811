// SPDX-License-Identifier: LGPL-2.1-or-later
// What the benchmark of whole pipelines measures, and on what.
#pragma once

#include <gst/gst.h>

#include <expected>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace keepbox::test {

inline constexpr double kFramesPerSecond = 30;  // of clips and of paced sources

struct Options {
  std::string model, labels, clip, json;
  std::string provider = "auto";  // or cpu, cuda: rows of the other one are left out
  std::vector<std::string> rows;  // none: all
  std::vector<int> streams{1, 4, 16};
  int width = 1920, height = 1080;
  int frames = 300;  // a stream, over all rounds
  int warmup = 20;   // a stream and round
  int rounds = 3;
  int seconds = 10;  // of paced rows
};

/// Buffers of system memory that sources push again and again.
struct Frames {
  std::string caps;
  std::vector<GstBuffer*> buffers;  // owned by nobody: they stay to the end of the process

  /// Shapes of strong colours that wander over a shaded ground. @param format NV12 or RGB.
  static Frames drawn(const char* format, int width, int height, int count);
  /// The first frames of options.clip, as NV12 of options' size. The error says why not.
  static std::expected<Frames, std::string> of_clip(const Options& options, int count);
  /// The same in CUDA memory, of the context that tensorinfer brings. The error says why not.
  static std::expected<Frames, std::string> on_gpu(const Options& options, const Frames& frames);
};

/// Has an appsrc push `frames` in turn, at kFramesPerSecond by their timestamps. They stay the
/// caller's.
/// @param count then comes the end; -1: never.
void feed(GstElement* appsrc, const Frames& frames, int count);

/// One way from frames to boxes. In its text % stands for the number of the stream.
struct Way {
  std::string name;
  std::string source;                 // empty: an appsrc with frames that were made before
  std::string before;                 // between source and entry; each part ends with "!"
  std::string chain;                  // with elements infer% and boxes%
  std::string entry;                  // an element of the chain: time counts from its sink pad
  std::string exit;                   // until its source pad
  std::vector<std::string> elements;  // that it needs
  bool cuda = false;
  bool resident = false;  // takes Frames::on_gpu()
  bool paced = false;     // sources keep to the clock and drop what finds a full queue
};

/// Those of options. @param input_caps fitted_caps() of the model.
std::vector<Way> ways(const Options& options, const std::string& input_caps);

/// An element that is needed and not there; empty: all are.
std::string missing(const Way& way);

/// Of the frames after the warm-up; median microseconds of a frame but where it says otherwise.
struct Figures {
  double frames = 0, frames_per_second = 0;  // of all streams
  double p50 = 0, p99 = 0, mean = 0;         // from entry to exit
  double input = 0, model = 0, boxes_time = 0;
  double before = 0, infer = 0;  // from the entry to infer%, and between its pads
  double overhead = 0;      // p50 less model; 0 where the element does not say its model's time
  double cpu_ms = 0;        // of the whole process, user and system, milliseconds a frame
  double processors = 0;    // busy ones
  double gpu_percent = -1;  // -1: nobody knows
  double boxes = 0;         // a frame
  double zero_copy = 0, uploaded = 0, downloaded = 0;  // frames
  double late = 0, dropped = 0;  // frames: slower than a frame's time, or never out
  std::string provider, runtime;
  bool graph = false;
};

using Measured = std::expected<Figures, std::string>;

Measured measure(const Options& options, const Way& way, const Frames& frames, int streams,
                 int count);

/// Each number the median of the rounds'. @pre some.
Figures median(const std::vector<Figures>& rounds);

/// Do the stock element and tensorinfer make the same tensors of frames that need no fitting, and
/// how far apart are the scores of others? Null where one of them is not there.
nlohmann::ordered_json compare(const Options& options, const Frames& frames);

struct Size {
  int width = 0, height = 0;
};

/// Of the frames that the stock element takes for this model; 0 where it is not there.
Size stock_input(const Options& options);

/// Frames of that size for the stock element, for gst_parse_launch().
std::string fitted_caps(Size size);

/// The stock element with its settings for this model.
/// @param optimized by ONNX Runtime as far as tensorinfer has it; that is not the element's
/// default.
std::string stock_element(const Options& options, bool optimized);

double process_seconds();

/// How busy the first GPU is, by NVML, sampled every 50 ms while this lives.
class GpuMeter {
 public:
  GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  ~GpuMeter();
  /// Percent since the start; -1: nobody knows.
  double mean() const;

 private:
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

/// `text` with the stream's number for each %.
std::string numbered(const std::string& text, int stream);
/// As a word of gst_parse_launch().
std::string quoted(const std::string& value);

}  // namespace keepbox::test
