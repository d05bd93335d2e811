// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of the GPU benchmark: inputs, contenders, and the rows of its table.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/processor.h"
#include "tests/bench/gpu/device.h"
#include "tests/bench/scenes.h"
#include "tests/scene.h"

namespace keepbox::test::gpu {

constexpr size_t kTensors = 8;  // used in turn
constexpr float kIou = 0.45f;
constexpr uint32_t kMax = 300;

/// Row of the table.
struct Row {
  std::string section, input, contender;
  std::string state;        // of the GPU's L2 cache, if controlled
  std::string check;        // comparison of the boxes with the reference; empty: no boxes
  double p50 = 0, p99 = 0;  // microseconds
  size_t calls = 0;
  size_t candidates = 0, boxes = 0;
  double gb_per_s = 0, frames_per_s = 0;
  double cpu_us = 0;  // microseconds per frame, all threads of the process
};

struct Times {
  double p50 = 0, p99 = 0;
  size_t calls = 0;
};

/// Times work(0), work(1), ... after a warm-up: 600 calls, or fewer after one second.
/// @param before called before each call, not timed.
Times timed(const std::function<void(size_t)>& before, const std::function<void(size_t)>& work);

/// Returns the median and the 99th percentile.
Times times_of(std::vector<double> microseconds);

/// State shared by all sections: device helpers and results.
class Session {
 public:
  /// @param dump folder for the tensors, for other programs; empty: none
  explicit Session(std::string dump);

  void add(Row row);
  /// True if all contenders found the expected boxes.
  bool agreed() const { return agreed_; }
  void write(const std::string& path) const;

  /// Reads a buffer to have it in the L2 cache; flush() writes another one to evict it.
  void warm(const DeviceBuffer& buffer) const;
  void flush() const;

  const std::string& dump() const { return dump_; }
  nlohmann::ordered_json& manifest() { return manifest_; }
  void write_manifest() const;
  const DeviceBuffer& sink() const { return sink_; }

 private:
  std::string dump_;
  DeviceBuffer scratch_, sink_;
  std::vector<Row> rows_;
  nlohmann::ordered_json manifest_ = nlohmann::ordered_json::array();
  std::string heading_;
  bool agreed_ = true;
};

/// Tensors of one kind, their settings, and the expected boxes.
struct Input {
  std::string section, name;
  Settings settings;
  std::vector<Tensor> tensors;
  std::vector<DeviceBuffer> on_device;  // copies of the tensors
  Plan plan;
  std::vector<std::vector<Detection>> expected;    // by the reference
  std::vector<std::vector<Candidate>> candidates;  // by the reference, before NMS

  bool planes() const { return plan.spec->columns.objectness < 0; }
  size_t size() const { return tensors.size(); }
  /// Returns a view of the tensor in system or device memory.
  TensorView view(size_t index, MemorySpace space) const;
};

/// Measures frames with several tensors.
void measure_families(Session& session);

/// Computes the expected boxes and uploads the tensors; writes them if the session has a dump
/// folder.
/// @param file name of the tensors' file, the same for inputs that share them; empty: not written.
Input make_input(Session& session, std::string section, std::string name, const std::string& file,
                 const Settings& settings, std::vector<Tensor> tensors);

/// Returns that many frames of one kind, see scenes.h.
std::vector<Tensor> scenes(bool planes, size_t anchors, const SceneSize& size, size_t count);

/// Returns settings for frames of 640x640 pixels.
Settings frame_settings(bool planes, float threshold);

/// Returns "exact" for the same boxes in the same order, or the difference.
std::string compare(std::span<const Detection> found, std::span<const Detection> expected);

/// A method that turns tensors into boxes.
struct Contender {
  std::string name;
  std::function<size_t(size_t)> run;  // takes a tensor, returns the number of boxes
  // takes a tensor and the number of boxes that run() found in it; returns Row::check
  std::function<std::string(size_t, size_t)> check;
  const std::vector<DeviceBuffer>* reads = nullptr;  // on the device; null: system memory
};

/// Returns a backend on tensors in one memory, or nothing (with a message on stderr) if it cannot
/// run.
std::optional<Contender> backend(const Input& input, std::string_view name, MemorySpace space);
std::optional<Processor> make_processor(const Plan& plan, std::string_view name, MemorySpace space);

/// Returns the published methods, see peers.h. YOLOv8's planes are transposed to rows beforehand.
std::vector<Contender> fast_decoders(const Input& input, size_t most);
/// Returns NMS of boxes that are sorted beforehand.
Contender faster_rcnn(const Input& input);

/// Checks a contender on every tensor, then times it: on the device in three states of its cache.
void measure(Session& session, const Input& input, const Contender& contender,
             bool all_states = true);

void measure_floors(Session& session);
void measure_contents(Session& session);
void measure_candidates(Session& session);
void measure_nms(Session& session);
void measure_batches(Session& session);
void measure_instances(Session& session);
/// Measures instances whose tensors arrive late.
void measure_waiting(Session& session);
/// Measures one instance next to kernels of others.
void measure_neighbours(Session& session);

/// Returns the bandwidth of a device copy in GB/s, read and written; measured once.
double copy_bandwidth();

}  // namespace keepbox::test::gpu
