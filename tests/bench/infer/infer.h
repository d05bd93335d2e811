// SPDX-License-Identifier: LGPL-2.1-or-later
// Measurements and inputs of the benchmark of whole pipelines.
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
  std::string infer;              // further properties of tensorinfer, as for gst_parse_launch()
  std::string provider = "auto";  // or cpu, cuda: rows of the other one are left out
  std::vector<std::string> rows;  // empty: all
  std::vector<int> streams{1, 4, 16};
  int width = 1920, height = 1080;
  int frames = 300;  // per stream, over all rounds
  int warmup = 20;   // per stream and round
  int rounds = 3;
  int seconds = 10;  // of paced rows
  int queue = 4;     // frames between model and boxes, of queued rows
};

/// A detection that sources attach to a frame, in pixels.
struct Object {
  int x, y, width, height;
};

/// Buffers in system memory that sources push repeatedly.
struct Frames {
  std::string caps;
  std::vector<std::vector<Object>> objects;  // per buffer; empty: nothing is attached
  std::vector<GstBuffer*> buffers;           // never freed: they live as long as the process

  /// Draws eight moving shapes of strong colours on a shaded background. @param format NV12 or RGB.
  static Frames drawn(const char* format, int width, int height, int count);
  /// Returns the first frames of options.clip, as NV12 in options' size, or an error text.
  static std::expected<Frames, std::string> of_clip(const Options& options, int count);
  /// Returns copies in CUDA memory, of tensorinfer's context, or an error text.
  static std::expected<Frames, std::string> on_gpu(const Options& options, const Frames& frames);
};

/// Makes an appsrc push `frames` in turn, with timestamps at kFramesPerSecond. The caller keeps
/// their ownership.
/// @param count number of frames before EOS; -1: endless.
/// @param objects true to attach the frames' objects.
void feed(GstElement* appsrc, const Frames& frames, int count, bool objects = false);

/// One variant from frames to boxes. In its text % is replaced by the number of the stream.
struct Way {
  std::string name;
  std::string source;                 // empty: an appsrc with generated frames
  std::string before;                 // between source and entry; each part ends with "!"
  std::string chain;                  // with elements infer% and boxes%
  std::string entry;                  // an element of the chain: time counts from its sink pad
  std::string exit;                   // until its source pad
  std::vector<std::string> elements;  // required elements
  bool cuda = false;
  bool resident = false;  // needs Frames::on_gpu()
  bool paced = false;     // sources run in real time and drop frames if a queue is full
  bool objects = false;   // the model runs on the shapes of drawn frames
};

/// Returns the variants for the options. @param input_caps fitted_caps() of the model.
std::vector<Way> ways(const Options& options, const std::string& input_caps);

/// Returns a missing required element; empty: none.
std::string missing(const Way& way);

/// Results after the warm-up; medians in microseconds per frame unless noted.
struct Figures {
  double frames = 0, frames_per_second = 0;  // of all streams
  double p50 = 0, p99 = 0, mean = 0;         // from entry to exit
  double input = 0, model = 0, boxes_time = 0;
  double before = 0, infer = 0;  // from the entry to infer%, and between its pads
  double overhead = 0;      // p50 minus model; 0 if the element does not report its model's time
  double cpu_ms = 0;        // of the whole process, user and system, milliseconds per frame
  double processors = 0;    // busy ones
  double gpu_percent = -1;  // -1: unknown
  double boxes = 0;         // per frame
  double zero_copy = 0, uploaded = 0, downloaded = 0;  // frames
  double late = 0, dropped = 0;  // frames: later than a frame's duration, or lost
  double first_late = 0,
         last_late = 0;  // milliseconds from the start to the arrival of late frames
  std::string provider, runtime;
  bool graph = false;
  double batch = 0, fill = 0;  // largest number of frames per run, and their mean
};

using Measured = std::expected<Figures, std::string>;

extern const char* const kUsage;

/// Reads the command line; exits with the usage if it is wrong.
Options parsed(int argc, char** argv);

Measured measure(const Options& options, const Way& way, const Frames& frames, int streams,
                 int count);

/// Returns the median over rounds of each number. @pre rounds is not empty.
Figures median(const std::vector<Figures>& rounds);

/// Compares the tensors of the stock element and tensorinfer, which are equal for frames that need
/// no resizing, and the scores of others. Null if one of the elements is missing.
nlohmann::ordered_json compare(const Options& options, const Frames& frames);

struct Size {
  int width = 0, height = 0;
};

/// Returns the frame size that the stock element needs for this model; 0 if it is missing.
Size stock_input(const Options& options);

/// Returns caps of that size for the stock element, for gst_parse_launch().
std::string fitted_caps(Size size);

/// Returns the stock element with its settings for this model.
/// @param optimized true for the same ONNX Runtime optimisation as tensorinfer, which is not the
/// element's default.
std::string stock_element(const Options& options, bool optimized);

double process_seconds();

/// Measures the load of the first GPU, by NVML, every 50 ms during its lifetime.
class GpuMeter {
 public:
  GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  ~GpuMeter();
  /// Returns percent since the start; -1: unknown.
  double mean() const;

 private:
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

/// Replaces each % in `text` by the number of the stream.
std::string numbered(const std::string& text, int stream);
/// Quotes a value for gst_parse_launch().
std::string quoted(const std::string& value);

}  // namespace keepbox::test
